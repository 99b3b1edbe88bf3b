"""Cuts a workbook into slices of formula cells, each small enough for an engine that is slow and takes much memory per formula.

A slice is a workbook of its own: the formulas of its cells as the book has them, the names they use, and all other cells they read
as values. The cells are cut in the order of their dependencies, so a slice reads only constants and cells of slices before it:

* Recomputed one after the other, each from the values that the slices before it gave, the slices give what the whole book would.
* Recomputed each on its own from the values cached in the file, they prove the cached values. Every formula cell is in exactly one
  slice, and the order shows that no cell depends on itself; so if each cell is what its formula makes of the cached values that it
  reads, then, by induction along that order, all of them are what the engine would compute for the whole book. A cached value that
  is wrong shows in its own cell, and possibly in later slices too, in cells that were computed from it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

import openpyxl
from openpyxl.utils.datetime import to_excel
from openpyxl.workbook.defined_name import DefinedName

from builder.engines.precedents import Precedents, cells_in
from builder.engines.session import ErrorValue, Value
from builder.engines.workbook_file import Cell, load
from builder.errors import VerifyError

SIZE = 5000  # formula cells in a slice


@dataclass(frozen=True)
class Slice:
    """Formulas in the order of their dependencies, and all they use: formula cells of slices before, constants, names and sheets."""

    formulas: Mapping[Cell, str]
    reads: frozenset[Cell]
    constants: Mapping[Cell, Value]
    names: Mapping[str, str]
    sheets: tuple[str, ...]

    def given(self, values: Mapping[Cell, Value]) -> dict[Cell, Value]:
        """The cells that are values in the slice, from the values of the book's formula cells."""
        return {**self.constants, **{cell: values[cell] for cell in self.reads}}


def cut(path: Path | str, size: int = SIZE) -> tuple[Slice, ...]:
    """Every formula cell of a workbook, in slices of `size` cells.

    Raises UsageError for a file that is no workbook; VerifyError for a formula whose text does not tell what it reads, for an array
    formula, and for cells that depend on themselves.
    """
    book = load(path, cached_values=False)
    formulas, constants = _contents(book)
    names = {name.upper(): defined.attr_text for name, defined in book.defined_names.items()}
    precedents = Precedents({sheet.title: (sheet.max_row, sheet.max_column) for sheet in book.worksheets}, names)
    reads = {cell: precedents.of(text, cell.sheet) for cell, text in formulas.items()}
    filled = formulas.keys() | constants.keys()
    cells = {area: cells_in(area, filled) for area in {area for each in reads.values() for area in each.areas}}

    def read_by(cell: Cell) -> Iterator[Cell]:
        return (read for area in reads[cell].areas for read in cells[area])

    def slice_of(own: list[Cell]) -> Slice:
        read = {cell for place in own for cell in read_by(place)}
        return Slice(
            {cell: formulas[cell] for cell in own},
            frozenset(read & formulas.keys()) - set(own),
            {cell: constants[cell] for cell in read & constants.keys()},
            {name: names[name] for cell in own for name in reads[cell].names},
            tuple(sheet.title for sheet in book.worksheets),
        )

    order = in_order(formulas, lambda cell: (read for read in read_by(cell) if read in formulas))
    return tuple(slice_of(order[start:start + size]) for start in range(0, len(order), size))


def in_order(cells: Iterable[Cell], precedents: Callable[[Cell], Iterator[Cell]]) -> list[Cell]:
    """The cells, each after those it depends on, and soon after.

    Raises VerifyError for a cell that depends on itself.
    """
    order: dict[Cell, None] = {}
    for root in cells:
        path = {} if root in order else {root: precedents(root)}  # from the root to the cell whose turn it is
        while path:
            cell, rest = next(reversed(path.items()))
            following = next((read for read in rest if read not in order), None)
            if following is None:
                del path[cell]
                order[cell] = None
            elif following in path:
                raise VerifyError(f"{following.sheet}!{following.a1} depends on itself")
            else:
                path[following] = precedents(following)
    return list(order)


def write(piece: Slice, values: Mapping[Cell, Value], path: Path) -> None:
    """Write a slice as a workbook, with `values` for the formula cells of other slices."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    sheets = {title: book.create_sheet(title) for title in piece.sheets}
    for cell, text in piece.formulas.items():
        sheets[cell.sheet].cell(cell.row, cell.column, text)
    for cell, value in piece.given(values).items():
        _put(sheets[cell.sheet].cell(cell.row, cell.column), value)
    for name, meaning in piece.names.items():
        book.defined_names[name] = DefinedName(name, attr_text=meaning)
    book.save(path)


def _put(cell: openpyxl.cell.Cell, value: Value) -> None:
    """Put a value into a cell; a text stays a text, whatever it looks like."""
    if value == "":
        cell.value = '=""'  # openpyxl would leave the cell blank, which formulas tell from an empty text
        return
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "e" if isinstance(value, ErrorValue) else "s"


def _contents(book: openpyxl.Workbook) -> tuple[dict[Cell, str], dict[Cell, Value]]:
    """Formulas and constants, column by column: in a wide sheet a column is what belongs together."""
    formulas, constants = {}, {}
    for cell in (cell for sheet in book.worksheets for column in sheet.iter_cols() for cell in column if cell.value is not None):
        place = Cell(cell.parent.title, cell.row, cell.column)
        if cell.data_type != "f":
            constants[place] = _constant(cell, book.epoch)
        elif isinstance(cell.value, str):
            formulas[place] = cell.value
        else:
            raise VerifyError(f"{place.sheet}!{place.a1} is an array formula or a data table, which spreads over other cells")
    return formulas, constants


def _constant(cell: openpyxl.cell.Cell, epoch: datetime) -> Value:
    if cell.data_type == "e":
        return ErrorValue(cell.value)
    return to_excel(cell.value, epoch) if isinstance(cell.value, (date, time)) else cell.value
