"""`formulas`, an engine in Python: slow, with one compiled function per set of inputs and outputs."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from builder.engines.session import ErrorValue, Session
from builder.engines.workbook_file import Cell
from builder.errors import EngineMissing, VerifyError


class FormulasEngine:
    """The Python package `formulas`."""

    name = "formulas"

    @staticmethod
    def available() -> bool:
        return find_spec("formulas") is not None

    @staticmethod
    def open(path: Path | str) -> FormulasSession:
        if not FormulasEngine.available():
            raise EngineMissing("the engine formulas is not installed; `make test` sets it up, or: pip install formulas")
        return FormulasSession(path)


class FormulasSession(Session):
    """A workbook as a graph of Python functions."""

    def __init__(self, path: Path | str):
        super().__init__(path)
        os.environ.setdefault("TQDM_DISABLE", "1")  # no progress bar; read when the package is imported
        import formulas
        import schedula

        # A blank cell is a range that holds EMPTY. EMPTY itself would mean "no value yet" and drop every output that needs it.
        self._blank = [[schedula.EMPTY]]
        self._empty = schedula.EMPTY
        self._model = formulas.ExcelModel().loads(str(path)).finish()
        self._functions: dict[tuple, object] = {}

    def _calculate(self, typed: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        # A blank cell that no formula reads has no node, and typing into it changes nothing.
        used = {cell: value for cell, value in typed.items() if cell in self.file.constants or self._key(cell) in self._model.dsp.nodes}
        ranges = self._compiled(tuple(used), formulas)(*(self._blank if value is None else value for value in used.values()))
        return [self._value(cell_range.value[0, 0]) for cell_range in (ranges if len(formulas) > 1 else [ranges])]

    def _compiled(self, inputs: tuple[Cell, ...], outputs: tuple[Cell, ...]):
        if (inputs, outputs) not in self._functions:
            keys = [[self._known_key(cell) for cell in cells] for cells in (inputs, outputs)]
            self._functions[inputs, outputs] = self._model.compile(*keys)
        return self._functions[inputs, outputs]

    def _key(self, cell: Cell) -> str:
        return f"'[{self.file.path.name}]{cell.sheet.upper()}'!{cell.a1}"

    def _known_key(self, cell: Cell) -> str:
        """The key of a cell in the graph. An unknown key would be accepted and ignored, so it is refused here."""
        key = self._key(cell)
        if key not in self._model.dsp.nodes:
            raise VerifyError(f"{self.file.path}: formulas does not know the cell {key}")
        return key

    def _value(self, value: object) -> object:
        from formulas.functions import XlError

        if value is self._empty:
            return None
        if isinstance(value, XlError):
            return ErrorValue(str(value))
        return value.item() if hasattr(value, "item") else value
