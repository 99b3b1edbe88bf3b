"""What an .xlsx file holds, read once: the cells that names stand for, the constants and the places of formulas."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import openpyxl
from openpyxl.utils import get_column_letter
from openpyxl.utils.datetime import to_excel
from openpyxl.utils.exceptions import InvalidFileException

from builder.errors import UsageError, nearest


class Cell(NamedTuple):
    """A place in a workbook; row and column count from 1."""

    sheet: str
    row: int
    column: int

    @property
    def a1(self) -> str:
        return f"{get_column_letter(self.column)}{self.row}"


@dataclass(frozen=True)
class WorkbookFile:
    """Names of single cells and of columns of cells (workbook scope), the constants, and the places of formulas."""

    path: Path
    names: dict[str, Cell]
    columns: dict[str, tuple[Cell, ...]]
    constants: dict[Cell, object]
    formulas: frozenset[Cell]

    def cell(self, name: str) -> Cell:
        """The cell that a defined name stands for.

        Raises UsageError for a name that the book does not define for a single cell.
        """
        if name not in self.names:
            raise UsageError(f"{self.path}: no cell is named '{name}'{nearest(name, self.names)}")
        return self.names[name]

    def input_cell(self, name: str) -> Cell:
        """The cell of a name that takes typed values.

        Raises UsageError for a formula: typing over it would break the book.
        """
        cell = self.cell(name)
        if cell in self.formulas:
            raise UsageError(f"{self.path}: '{name}' ({cell.sheet}!{cell.a1}) is a formula, not an input")
        return cell


def read(path: Path | str) -> WorkbookFile:
    """Read a workbook's names and cells.

    Raises UsageError for a file that is missing or is no .xlsx workbook.
    """
    book = load(path, cached_values=False)
    try:
        return _read(Path(path), book)
    except (TypeError, ValueError, IndexError, KeyError) as error:  # openpyxl finds some damage only when cells are asked for
        raise UsageError(f"{path}: cannot be read as an .xlsx workbook ({error})") from None


def _read(path: Path, book: openpyxl.Workbook) -> WorkbookFile:
    constants, formulas = {}, set()
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is None:
                    continue
                place = Cell(sheet.title, cell.row, cell.column)
                if cell.data_type == "f":
                    formulas.add(place)
                else:
                    # A number with a date format is still the number that formulas read.
                    constants[place] = to_excel(cell.value, book.epoch) if isinstance(cell.value, (date, time)) else cell.value
    areas = dict(_named_areas(book))
    names = {name: cells[0] for name, cells in areas.items() if len(cells) == 1}
    return WorkbookFile(path, names, areas, constants, frozenset(formulas))


def load(path: Path | str, cached_values: bool) -> openpyxl.Workbook:
    """Open a workbook with openpyxl, showing formulas or the values that were cached with them.

    Raises UsageError for a file that is missing or is no .xlsx workbook.
    """
    try:
        return openpyxl.load_workbook(path, data_only=cached_values)
    except (OSError, BadZipFile, InvalidFileException, KeyError, IndexError, TypeError, ValueError, SyntaxError) as error:
        raise UsageError(f"{path}: cannot be read as an .xlsx workbook ({error})") from None


def _named_areas(book: openpyxl.Workbook):
    """(name, cells from top to bottom) of every name of a cell or of a part of a column."""
    for name, defined in book.defined_names.items():
        destinations = list(defined.destinations)
        if len(destinations) == 1 and destinations[0][0] in book.sheetnames:
            sheet, reference = destinations[0]
            first_column, first_row, last_column, last_row = openpyxl.utils.range_boundaries(reference)
            if first_column == last_column and None not in (first_row, last_row):
                yield name, tuple(Cell(sheet, row, first_column) for row in range(first_row, last_row + 1))
