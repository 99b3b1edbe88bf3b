"""LibreOffice, a real spreadsheet, over UNO: one hidden LibreOffice per session, which ends with it."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from builder.engines.session import ErrorValue, TypingSession
from builder.engines.workbook_file import Cell
from builder.errors import EngineMissing, VerifyError

WORKER = Path(__file__).with_name("uno_worker.py")
PROGRAMS = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")
START_LIMIT_SECONDS = 60
END_LIMIT_SECONDS = 30


class LibreOfficeEngine:
    """The programs `soffice` and a Python that has the module `uno`."""

    name = "libreoffice"

    @staticmethod
    def available() -> bool:
        return _soffice() is not None and _python_with_uno() is not None

    @staticmethod
    def open(path: Path | str) -> LibreOfficeSession:
        if not LibreOfficeEngine.available():
            raise EngineMissing(
                "the engine libreoffice needs LibreOffice Calc and a Python that has its module uno; `make test` sets it up, "
                "or on Debian and Ubuntu: apt-get install libreoffice-calc python3-uno"
            )
        return LibreOfficeSession(path)


class LibreOfficeSession(TypingSession):
    """A workbook open in a LibreOffice of its own.

    LibreOffice has no logical type: TRUE comes back as a bool only from a cell without a number format of its own, else as 1. Where it
    finds an argument wrong it shows an error of its own, given here as `#VALUE!`, even if Excel would show #NUM! or #REF!.
    """

    def __init__(self, path: Path | str):
        super().__init__(path)
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        self._folder = tempfile.TemporaryDirectory(prefix="sizing-libreoffice-", ignore_cleanup_errors=True)
        self._worker = subprocess.Popen(
            [_python_with_uno(), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**environment, "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
        try:
            ready = self._ask({
                "soffice": _soffice(),
                "workbook": str(Path(path).resolve()),
                "folder": self._folder.name,
                "start_limit_seconds": START_LIMIT_SECONDS,
            })
            self.load_seconds: float = ready["load_seconds"]  # to load and recalculate, LibreOffice already running
        except BaseException:
            self.close()
            raise

    def _type_and_read(self, changes: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        answer = self._ask({"type": list(changes.items()), "read": formulas})
        return [ErrorValue(value["error"]) if isinstance(value, dict) else value for value in answer["values"]]

    def _ask(self, message: Mapping[str, object]) -> dict:
        try:
            self._worker.stdin.write(json.dumps(message) + "\n")
            self._worker.stdin.flush()
            line = self._worker.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        answer = json.loads(line) if line else {"failure": "its worker ended"}
        if "failure" in answer:
            raise VerifyError(f"{self.file.path}: LibreOffice failed: {answer['failure']}")
        return answer

    def close(self) -> None:
        """End LibreOffice: ask it to, and if it does not listen end its processes."""
        self._worker.stdout.close()
        try:
            self._worker.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._worker.wait(END_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._worker.pid, signal.SIGKILL)
            self._worker.wait()
        self._folder.cleanup()


@cache
def _soffice() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@cache
def _python_with_uno() -> str | None:
    """A Python that can `import uno`: this one, the system's, or LibreOffice's own."""
    candidates = [sys.executable, "/usr/bin/python3"]
    if _soffice() is not None:
        candidates.append(str(Path(_soffice()).resolve().with_name("python")))
    return next((python for python in candidates if _has_uno(python)), None)


def _has_uno(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import uno"], capture_output=True, timeout=START_LIMIT_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
