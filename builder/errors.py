"""Errors that a user sees: one class per kind of failure, each with an exit code of its own."""
from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class SizingError(Exception):
    """Something a user can mend; its text is `file:line:column: message`, as far as the place is known."""

    exit_code = 1

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None, column: int | None = None):
        super().__init__(message)
        self.message = message
        self.path = None if path is None else Path(path)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return self.message if self.path is None else f"{place(self.path, self.line, self.column)}: {self.message}"


class PresetError(SizingError):
    """A preset that cannot be trusted."""

    exit_code = 2


class TemplateError(SizingError):
    """A template that cannot be rendered."""

    exit_code = 3


class VerifyError(SizingError):
    """A workbook that differs from the reference."""

    exit_code = 4


class EngineMissing(SizingError):
    """A spreadsheet engine that is not installed."""

    exit_code = 5


class UsageError(SizingError):
    """A name or value on the command line, or an input, that is not valid."""

    exit_code = 64


def place(path: Path, line: int | None = None, column: int | None = None) -> str:
    """`file:line:column`, the file relative to the working folder where it lies below it."""
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return ":".join(str(part) for part in (shown, line, column) if part is not None)


def nearest(value: object, choices: Iterable[str]) -> str:
    """`; did you mean 'X'?` for the valid name most like `value`, case aside; empty where none is like it."""
    folded = {choice.casefold(): choice for choice in map(str, choices)}
    found = get_close_matches(str(value).casefold(), folded, n=1, cutoff=0.5)
    return f"; did you mean '{folded[found[0]]}'?" if found else ""
