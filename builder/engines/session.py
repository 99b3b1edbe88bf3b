"""The one interface of all engines: open a workbook, type inputs, read outputs by name."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from builder.engines import workbook_file
from builder.engines.workbook_file import Cell
from builder.errors import UsageError


class ErrorValue(str):
    """An error that a cell shows, such as `#N/A`."""

    def __repr__(self) -> str:
        return f"ErrorValue({str(self)!r})"


Value = float | bool | str | ErrorValue | None


class Engine(Protocol):
    """A program that recalculates .xlsx files."""

    name: str

    @staticmethod
    def available() -> bool:
        """Whether the program is installed here."""

    @staticmethod
    def open(path: Path | str) -> Session:
        """A session on a workbook; raises EngineMissing where the program is not installed."""


class Session(ABC):
    """A workbook held open by an engine. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path | str):
        self.file = workbook_file.read(path)

    def evaluate(self, inputs: Mapping[str, object], outputs: Sequence[str]) -> dict[str, Value]:
        """Values of `outputs` after `inputs` were typed into the file as it was opened.

        Both go by workbook-scoped names of single cells. An input is what a user types: a number, a text, a logical value, or
        None, which blanks the cell. Inputs of earlier calls have no effect.

        Raises UsageError for a name that the book does not have, an input that is a formula, and a value nobody can type.
        """
        typed = {self.file.input_cell(name): _typed(name, value) for name, value in inputs.items()}
        wanted = {name: self.file.cell(name) for name in outputs}
        formulas = tuple(dict.fromkeys(cell for cell in wanted.values() if cell in self.file.formulas))
        values = {**self.file.constants, **typed, **self._results(typed, formulas)}
        return {name: plain(values.get(cell)) for name, cell in wanted.items()}

    def recalculated(self) -> dict[Cell, Value]:
        """Recalculated value of every formula cell, with the file's own inputs."""
        return self._results({}, tuple(sorted(self.file.formulas)))

    def all_cells(self) -> dict[tuple[str, str], Value]:
        """The same by sheet and A1 reference."""
        return {(cell.sheet, cell.a1): value for cell, value in self.recalculated().items()}

    def _results(self, typed: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> dict[Cell, Value]:
        if not formulas:
            return {}
        values = (plain(value) for value in self._calculate(typed, formulas))
        # In a spreadsheet a formula is never empty: a reference to a blank cell shows 0.
        return {cell: 0.0 if value is None else value for cell, value in zip(formulas, values, strict=True)}

    @abstractmethod
    def _calculate(self, typed: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        """Values of formula cells, in order, after `typed` was put into the file's own cells."""

    def close(self) -> None:
        """End the session; no call is possible afterwards."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class TypingSession(Session):
    """A session of an engine that keeps what is typed: it puts the file's own value back before the next call."""

    def __init__(self, path: Path | str):
        super().__init__(path)
        self._typed_before: dict[Cell, object] = {}

    def _calculate(self, typed: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        restored = {cell: self.file.constants.get(cell) for cell in self._typed_before if cell not in typed}
        self._typed_before = dict(typed)
        return self._type_and_read({**restored, **typed}, formulas)

    @abstractmethod
    def _type_and_read(self, changes: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        """Type the changes, recalculate, and give the values of the formula cells in order."""


def plain(value: object) -> Value:
    """A value as this package gives it: every number a float, everything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return float(value)


def _typed(name: str, value: object) -> object:
    if value is not None and not isinstance(value, (str, int, float)):
        raise UsageError(f"{value!r} for '{name}' is not something that can be typed into a cell")
    return value
