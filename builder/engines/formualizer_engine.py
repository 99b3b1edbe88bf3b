"""formualizer, a fast engine in Rust: thousands of scenarios, and mutants."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from builder.engines.session import ErrorValue, TypingSession
from builder.engines.workbook_file import Cell
from builder.errors import EngineMissing, UsageError

# formualizer's error kinds -> the texts that a spreadsheet shows.
ERRORS = {"Na": "#N/A", "Value": "#VALUE!", "Div": "#DIV/0!", "Ref": "#REF!", "Name": "#NAME?", "Num": "#NUM!", "Null": "#NULL!"}


class FormualizerEngine:
    """The Python package `formualizer`."""

    name = "formualizer"

    @staticmethod
    def available() -> bool:
        return find_spec("formualizer") is not None

    @staticmethod
    def open(path: Path | str) -> FormualizerSession:
        if not FormualizerEngine.available():
            raise EngineMissing("the engine formualizer is not installed; `make test` sets it up, or: pip install formualizer")
        return FormualizerSession(path)


class FormualizerSession(TypingSession):
    """A workbook in formualizer's memory."""

    def __init__(self, path: Path | str):
        import formualizer

        super().__init__(path)
        try:
            self._book = formualizer.Workbook.from_path(str(path))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read by formualizer ({error})") from None
        self._book.set_temporal_egress("serial")  # dates as the numbers that they are

    def _type_and_read(self, changes: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        for cell, value in changes.items():
            self._book.set_value(*cell, value)
        self._book.evaluate_all()  # only what the changes reach, and twice as quick as asking for many cells one by one
        return [_value(self._book.get_value(*cell)) for cell in formulas]


def _value(value: object) -> object:
    if isinstance(value, dict):  # {"type": "Error", "kind": "Na"}
        return ErrorValue(ERRORS.get(value["kind"], f"#{value['kind']}"))
    return value
