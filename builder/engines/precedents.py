"""Which cells the formulas of a workbook read: every reference and defined name of a formula, as areas of cells."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token, TokenizerError
from openpyxl.utils import range_boundaries

from builder.engines.workbook_file import Cell
from builder.errors import VerifyError

# What these read is known only once they are calculated.
COMPUTED_REFERENCES = ("INDIRECT(", "OFFSET(")


class Area(NamedTuple):
    """A rectangle of cells on one sheet, its corners included."""

    sheet: str
    first_row: int
    first_column: int
    last_row: int
    last_column: int


class Reads(NamedTuple):
    """What a formula reads, and the defined names, in capitals, that it needs for that, directly or by other names."""

    areas: tuple[Area, ...]
    names: tuple[str, ...]


class Precedents:
    """Finds what formulas read, in a book with these sheets (title -> last row and column) and names (name -> what it stands for)."""

    def __init__(self, sheets: Mapping[str, tuple[int, int]], names: Mapping[str, str]):
        self._sheets = {title.upper(): (title, *size) for title, size in sheets.items()}
        self._names = {name.upper(): text for name, text in names.items()}
        self._of_operand = lru_cache(maxsize=None)(self._of_operand)  # a wide sheet has few references, each in many formulas

    def of(self, formula: str, sheet: str) -> Reads:
        """What a formula, written with its `=` on a sheet, reads.

        Raises VerifyError where its text does not tell.
        """
        return _together(self._of_operand(operand, sheet) for operand in _operands(formula))

    def _of_operand(self, operand: str, sheet: str) -> Reads:
        if operand.upper() in self._names:
            meaning = self.of("=" + self._names[operand.upper()], sheet)
            return Reads(meaning.areas, (operand.upper(), *meaning.names))
        area = self._area(operand, sheet)
        if area:
            return Reads((area,), ())
        if operand.count(":") == 1:  # two corners, such as two names
            corners = [self._of_operand(corner, sheet) for corner in operand.split(":")]
            if all(corner.areas for corner in corners):
                return Reads((_around(corners[0].areas + corners[1].areas),), corners[0].names + corners[1].names)
        if any(sign in operand for sign in ":![]"):
            raise VerifyError(f"cannot tell which cells {operand} stands for")
        return Reads((), ())  # a name that the book lacks: an error, whatever the cells hold

    def _area(self, reference: str, sheet: str) -> Area | None:
        """The area of a reference, cut to what the sheet holds; None for anything else."""
        prefix, _, cells = reference.rpartition("!")
        title, last_row, last_column = self._sheets.get(_title(prefix or sheet), (None, 0, 0))
        try:
            left, top, right, bottom = range_boundaries(cells)
        except (TypeError, ValueError):
            return None
        rows, columns = sorted((top or 1, bottom or last_row)), sorted((left or 1, right or last_column))
        return title and Area(title, rows[0], columns[0], min(rows[1], last_row), min(columns[1], last_column))


def cells_in(area: Area, filled: Collection[Cell]) -> tuple[Cell, ...]:
    """The filled cells of an area, row by row."""
    rows, columns = range(area.first_row, area.last_row + 1), range(area.first_column, area.last_column + 1)
    return tuple(cell for row in rows for column in columns if (cell := Cell(area.sheet, row, column)) in filled)


def _together(reads: Iterable[Reads]) -> Reads:
    reads = tuple(reads)
    areas, names = ({item: None for each in reads for item in each[part]} for part in (0, 1))
    return Reads(tuple(areas), tuple(names))


def _around(areas: tuple[Area, ...]) -> Area:
    """The smallest area around areas of one sheet."""
    tops, lefts, bottoms, rights = zip(*(area[1:] for area in areas))
    return Area(areas[0].sheet, min(tops), min(lefts), max(bottoms), max(rights))


def _title(prefix: str) -> str:
    """A sheet's title in capitals, from a reference's part before `!`."""
    return (prefix[1:-1].replace("''", "'") if prefix.startswith("'") else prefix).upper()


def _operands(formula: str) -> list[str]:
    """The references and names in a formula.

    Raises VerifyError for one that cannot be read, or computes a reference: by a function, or by `:` beside a bracket.
    """
    try:
        tokens = [token for token in Tokenizer(formula).items if token.type in (Token.FUNC, Token.OPERAND)]
    except (TokenizerError, IndexError) as error:
        raise VerifyError(f"cannot read the formula {formula}: {error}") from None
    operands = [token.value for token in tokens if token.type == Token.OPERAND and token.subtype == Token.RANGE]
    functions = [token.value.upper() for token in tokens if token.type == Token.FUNC]
    if any(name.endswith(COMPUTED_REFERENCES) or ":" in name for name in functions) or any(operand.startswith(":") for operand in operands):
        raise VerifyError(f"cannot tell which cells the formula {formula} reads")
    return operands
