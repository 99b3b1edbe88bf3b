"""Sheets before they are rendered: cells, names and decorations, all still written in names."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache

from builder.formula import Formula

Scalar = str | float | int | bool | date
# A search by steps calls the cell above in column <name> above_<name>.
ABOVE = "above_"


@cache
def column_letter(column: int) -> str:
    """`A` for 0, `AA` for 26."""
    letters = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        letters = chr(65 + digit) + letters
    return letters


def column_number(letters: str) -> int:
    """0 for `A`."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def range_name(name: str) -> str:
    """The name of a table's column, which formulas of that table call `<name>_column` because `<name>` is the cell of their own row,
    and `above_<name>` where they mean the cell above.
    """
    return name.removesuffix("_column").removeprefix(ABOVE)


@dataclass(frozen=True, slots=True)
class Area:
    """A cell or a block of cells, 0-based, both ends included; what a defined name stands for."""

    sheet: str
    row: int
    column: int
    last_row: int
    last_column: int

    @property
    def single(self) -> bool:
        return (self.row, self.column) == (self.last_row, self.last_column)

    @cache  # a book's names are asked for in every formula
    def a1(self, with_sheet: bool = True) -> str:
        """Absolute reference, `Models!$B$5:$B$30`, the sheet in quotes where Excel needs them."""
        first = f"${column_letter(self.column)}${self.row + 1}"
        last = f"${column_letter(self.last_column)}${self.last_row + 1}"
        cells = first if self.single else f"{first}:{last}"
        if not with_sheet:
            return cells
        return f"'{self.sheet}'!{cells}" if " " in self.sheet else f"{self.sheet}!{cells}"


@dataclass(frozen=True)
class Across:
    """Names that are rows of the Workings: they resolve to the same column, `G$12`, or to one at a distance or fixed, `$G$12`."""

    rows: Mapping[str, int]
    distant: Mapping[str, int] = field(default_factory=dict)  # name -> columns to the right
    fixed: Mapping[str, int] = field(default_factory=dict)  # name -> column

    def find(self, name: str, row: int, column: int) -> str | None:
        if name not in self.rows:
            return None
        if name in self.fixed:
            return f"${column_letter(self.fixed[name])}${self.rows[name] + 1}"
        return f"{column_letter(column + self.distant.get(name, 0))}${self.rows[name] + 1}"


@dataclass(frozen=True)
class Down:
    """Names that are columns of a table: they resolve to the same row, `$F12`."""

    columns: Mapping[str, int]
    above: bool = False  # whether above_<name> is the cell above

    def find(self, name: str, row: int, column: int) -> str | None:
        up = self.above and name.startswith(ABOVE)
        name = name.removeprefix(ABOVE) if up else name
        return f"${column_letter(self.columns[name])}{row + 1 - up}" if name in self.columns else None


Scope = Across | Down | None


@dataclass(slots=True)
class Cell:
    """One cell: what it shows, how, and in which scope the names of its formula are looked up first."""

    content: Scalar | Formula | None
    style: str
    unit: str | None = None
    scope: Scope = None
    where: str = ""  # the template or preset line it comes from, for messages

    def far_ranges(self, row: int, column: int) -> list[tuple[str, str]]:
        """Ranges of its formula that run between names of the book, not within its own row or column."""
        return [ends for ends in self.content.ranges if not (self.scope and all(self.scope.find(name, row, column) for name in ends))]


@dataclass(frozen=True, slots=True)
class Validation:
    """What an input cell accepts, as Excel enforces it while typing."""

    row: int
    column: int
    kind: str  # list | whole | decimal | custom
    criteria: str = "between"
    minimum: float | str | None = None
    maximum: float | str | None = None
    source: str | None = None  # a name, for lists; a formula in A1, for custom
    allow_blank: bool = False
    title: str = ""
    prompt: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """Conditional formatting of one block of cells: `formula` (in A1 and names) decides."""

    area: Area
    formula: str
    style: str


@dataclass(frozen=True, slots=True)
class Series:
    title: Area | str
    values: Area
    categories: Area | None = None
    look: Mapping = field(default_factory=dict)  # colours resolved: `fill` of bars, `colour` and `inside` of lines and markers


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart; on one that shows categories only the title counts."""

    title: str = ""
    number_format: str = "#,##0"
    minimum: float | None = None  # what the data need if missing, and so is the maximum
    maximum: float | None = None
    log: int | None = None  # base of a logarithmic one


@dataclass(frozen=True, slots=True)
class Chart:
    row: int
    column: int
    kind: str  # stacked_bar | bar | column | scatter
    title: str
    description: str
    series: tuple[Series, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    reverse: bool = True  # bars from the top down
    width: int = 900
    height: int = 320


@dataclass(frozen=True, slots=True)
class Link:
    row: int
    column: int
    target: str  # a sheet, or a file beside the book
    text: str
    outside: bool = False


@dataclass
class Sheet:
    """One sheet in the making."""

    name: str
    widths: Mapping[int, float]
    freeze: tuple[int, int] = (0, 0)
    repeat_rows: int = 0
    print_to: int | None = None
    tab: str = ""
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    heights: dict[int, float] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    page_breaks: list[int] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)  # what needs every name to be defined first

    @property
    def first_column(self) -> int:
        """0, or 1 where column A is a margin."""
        return 1 if self.widths.get(0, 9) <= 3 else 0

    @property
    def last_column(self) -> int:
        return max(self.widths)

    def put(self, row: int, column: int, content: Scalar | Formula | None, style: str, unit: str | None = None,
            scope: Scope = None, where: str = "") -> None:
        self.cells[row, column] = Cell(content, style, unit, scope, where)

    def grow(self, row: int, text: str, column: int, size: float = 11) -> None:
        """Make a row high enough for a text that wraps in one column; Excel does not do it for a file it did not write."""
        per_line = max(1.0, self.widths.get(column, 9) * 11 / size * 1.12)
        lines = sum(max(1, -(-len(part) // per_line)) for part in text.split("\n"))
        self.heights[row] = max(self.heights.get(row, 15.0), 15.0 * lines if size >= 11 else 13.5 * lines + 1.5)

    def band(self, row: int, title: str) -> None:
        """A coloured band with a title over the width of the sheet."""
        for column in range(self.first_column, self.last_column + 1):
            self.put(row, column, title if column == self.first_column else None, "band")
        self.heights[row] = 20

    def area(self, row: int, column: int, last_row: int | None = None, last_column: int | None = None) -> Area:
        return Area(self.name, row, column, row if last_row is None else last_row, column if last_column is None else last_column)
