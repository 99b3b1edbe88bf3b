"""`formulas`, an engine in Python: slow, with one compiled function per set of inputs and outputs, and in slices for a large book."""
from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.engines import slices
from builder.engines.session import ErrorValue, Session, Value, plain
from builder.engines.slices import Slice
from builder.engines.workbook_file import Cell
from builder.errors import EngineMissing, VerifyError

# Formula cells beyond which a book is recalculated in slices: each takes some 60 kB for as long as the whole book is in memory.
SLICED_BEYOND = 10_000


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
    """A workbook as a graph of Python functions, or, for the file's own inputs in a large book, as many small ones in turn."""

    def __init__(self, path: Path | str):
        super().__init__(path)
        self._functions: dict[tuple, object] = {}

    @cached_property
    def _model(self):
        with _collection_paused():
            return _excel_model().loads(str(self.file.path)).finish()

    @cached_property
    def _own_values(self) -> dict[Cell, Value]:
        """Every formula cell with the file's own inputs, slice after slice."""
        values: dict[Cell, Value] = {}
        for piece in slices.cut(self.file.path, slices.SIZE):
            values |= recomputed(piece, values)
        return values

    def _calculate(self, typed: Mapping[Cell, object], formulas: tuple[Cell, ...]) -> Iterable[object]:
        if not typed and len(self.file.formulas) > SLICED_BEYOND:
            return [self._own_values[cell] for cell in formulas]
        # A blank cell that no formula reads has no node, and typing into it changes nothing.
        used = {cell: value for cell, value in typed.items() if cell in self.file.constants or self._key(cell) in self._model.dsp.nodes}
        ranges = self._compiled(tuple(used), formulas)(*(_blank() if value is None else value for value in used.values()))
        return [_value(cell_range) for cell_range in (ranges if len(formulas) > 1 else [ranges])]

    def _compiled(self, inputs: tuple[Cell, ...], outputs: tuple[Cell, ...]):
        if (inputs, outputs) not in self._functions:
            keys = [[self._known_key(cell) for cell in cells] for cells in (inputs, outputs)]
            self._functions[inputs, outputs] = self._model.compile(*keys)
        return self._functions[inputs, outputs]

    def _key(self, cell: Cell) -> str:
        return _key(self.file.path, cell)

    def _known_key(self, cell: Cell) -> str:
        """The key of a cell in the graph. An unknown key would be accepted and ignored, so it is refused here."""
        key = self._key(cell)
        if key not in self._model.dsp.nodes:
            raise VerifyError(f"{self.file.path}: formulas does not know the cell {key}")
        return key


def recomputed(piece: Slice, values: Mapping[Cell, Value]) -> dict[Cell, Value]:
    """What `formulas` gives for the formula cells of a slice, from `values` of the formula cells of other slices that it reads.

    Raises VerifyError for a cell that it gives nothing for.
    """
    with _collection_paused(), TemporaryDirectory(prefix="sizing-formulas-") as folder:
        return _recomputed(piece, values, Path(folder) / "slice.xlsx")


def _recomputed(piece: Slice, values: Mapping[Cell, Value], path: Path) -> dict[Cell, Value]:
    slices.write(piece, values, path)
    model = _excel_model()
    model.add_book(str(path))
    # Ask for the formula cells, and what they read follows; to load whole sheets would compile every blank cell of them as well.
    model.from_ranges(*(_key(path, cell) for cell in piece.formulas)).finish()
    solution = model.calculate(inputs={_key(path, cell): value for cell, value in piece.given(values).items() if _is_rounded(value)})
    missing = [f"{cell.sheet}!{cell.a1}" for cell in piece.formulas if _key(path, cell) not in solution]
    if missing:
        raise VerifyError(f"formulas gives no value for {', '.join(missing[:9])}")
    results = {cell: plain(_value(solution[_key(path, cell)])) for cell in piece.formulas}
    return {cell: 0.0 if value is None else value for cell, value in results.items()}  # a reference to a blank cell shows 0


def _is_rounded(value: Value) -> bool:
    """Whether `formulas` loses digits of a number when it reads it from a file: it keeps fifteen decimals."""
    return isinstance(value, float) and round(value, 15) != value


def _excel_model():
    os.environ.setdefault("TQDM_DISABLE", "1")  # no progress bar; read when the package is imported
    import formulas

    return formulas.ExcelModel()


def _blank() -> list[list[object]]:
    """What a blank cell holds. EMPTY itself would mean "no value yet" and drop every output that needs it."""
    import schedula

    return [[schedula.EMPTY]]


def _key(path: Path, cell: Cell) -> str:
    """The key of a cell in the graph of a workbook."""
    return f"'[{path.name}]{cell.sheet.upper()}'!{cell.a1}"


def _value(cell_range) -> object:
    """The value of a range of one cell."""
    import schedula
    from formulas.functions import XlError

    value = cell_range.value[0, 0]
    if value is schedula.EMPTY:
        return None
    if isinstance(value, XlError):
        return ErrorValue(str(value))
    return value.item() if hasattr(value, "item") else value


@contextmanager
def _collection_paused() -> Iterator[None]:
    """No garbage collection in the block, which makes millions of objects and keeps nearly all: it would take half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
        gc.collect()  # graphs of Python objects are cycles, each as large as its slice
