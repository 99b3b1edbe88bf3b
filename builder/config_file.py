"""A config.json as it lies on disk: read with one reading, and with the place of what is wrong in it."""
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import UsageError

MISSING = object()  # unlike None, which is a null in the file


@dataclass(frozen=True)
class ConfigFile:
    """A config.json, or the part of it that `inside` leads to: its keys, and where they stand."""

    path: Path
    text: str
    data: Mapping[str, Any]
    inside: str | None = None

    def get(self, key: str) -> Any:
        """The value of `key`, of `inner` within `outer` where it is `outer.inner`; MISSING where the file has none."""
        if key in self.data:
            return self.data[key]
        outer, dot, inner = key.partition(".")
        part = self.data.get(outer)
        return part.get(inner, MISSING) if dot and isinstance(part, dict) else MISSING

    def part(self, key: str) -> ConfigFile:
        """The mapping that stands at `key`."""
        return ConfigFile(self.path, self.text, self.data[key], key)

    def problem(self, message: str, key: str | None = None) -> UsageError:
        """The error that says `message` about `key`, or about the whole part."""
        start = 0
        for word in (self.inside, *(key or "").split(".")):
            found = re.compile(rf'"{re.escape(word)}"\s*:').search(self.text, start) if word else None
            start = found.start() if found else start
        return UsageError(message, self.path, *_line_and_column(self.text, start))


def read(path: Path) -> ConfigFile:
    """Read a config.json, or the one in a folder.

    Raises UsageError with file, line and column: no such file, not UTF-8, not JSON, a key given twice, a number without a value.
    """
    path = path / "config.json" if path.is_dir() else path
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path) from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        raise UsageError(f"the byte 0x{error.object[error.start]:02x} is not UTF-8", path, *_line_and_column(before, len(before))) from None
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise UsageError(f"is not JSON: {error.msg}", path, error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not JSON: {error}", path) from None
    if not isinstance(data, dict):
        raise UsageError("is not a config.json: expected keys with values in braces", path, 1, 1)
    return ConfigFile(path, text, data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key '{next(_twice(pairs))}' stands twice")
    return found


def _twice(pairs: list[tuple[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            yield key
        seen.add(key)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
