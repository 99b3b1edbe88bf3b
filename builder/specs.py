"""What template files may hold: one pydantic model per kind of file and per kind of block."""
from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from builder.chart_specs import ChartSpec, Look
from builder.parts import Part
from builder.schema import Book, Spec, Text
from builder.solver_specs import Lines, Steps


class RowSpec(Part):
    name: str
    label: str
    unit: str
    formula: Text
    help: str = ""
    source: str = ""


class LineSpec(Spec):
    """One line item: templates/lines/<line>.yaml."""

    books: list[Book] = Field(min_length=1)
    title: str
    order: int
    source: str
    help: str = ""
    all_scenarios: bool = False  # left out of the one-column render
    rows: list[RowSpec]


class CellSpec(Spec):
    """A cell of a grid: a text, a help text, a formula in names with its unit, or a quantity shown while the inputs are valid."""

    text: str | None = None
    help: str | None = None
    show: str | None = None
    formula: str | None = None
    unit: str = "text"
    style: str | None = None
    name: str | None = None
    link: str | None = None  # the sheet that it leads to
    file: str | None = None  # the book beside this one that it leads to


class Heading(Part):
    kind: Literal["heading"]
    title: str
    text: str = ""


class Strip(Part):
    """The answer: labels over values, in the first rows of the sheet, which stay on screen; `show` gives a figure or none."""

    kind: Literal["strip"]
    values: dict[str, CellSpec]  # column letter -> value; `text` is its label
    message: CellSpec  # below the values, over the width of the strip
    one_column_message: CellSpec  # the same in the one-column render
    notes: CellSpec  # below the message
    checks: CellSpec  # at the right end of the title
    verdict: str


class InputTable(Part):
    kind: Literal["inputs"]
    step: int
    title: str
    text: str = ""


class OverrideTable(Part):
    """Preset, override and used side by side for every input `<name>_override`."""

    kind: Literal["overrides"]
    title: str
    text: str = ""


class GridRow(Part):
    """A row of a grid that stands in some books only."""

    cells: list[str | CellSpec]


class Grid(Part):
    """A small table written out cell by cell."""

    kind: Literal["grid"]
    id: str | None = None
    new_page: bool = False  # in print
    title: str = ""
    text: str = ""
    headings: list[str] = Field(default_factory=list)
    column: str = "B"
    rows: list[list[str | CellSpec] | GridRow]
    names: dict[str, str] = Field(default_factory=dict)  # column letter -> name of the range below its heading


class Moment(Spec):
    """A moment of a step: a column of a table of tensors."""

    name: str
    heading: str
    layers: str | None = None  # formula: how many layers then keep what each of them saves; none if missing


class Tensor(Spec):
    """A row of a table of tensors; its formulas are in names."""

    tensor: str
    where: str
    shape: str
    element: Text | None = None  # bytes of an element
    count: Text | None = None  # how many there are
    bytes: Text  # of all of them, or with `saved` of one layer
    saved: bool = False  # by each layer; the moments say in how many it is alive
    alive: list[str] | None = None  # moments at which `bytes` are alive, every one if missing
    otherwise: dict[str, Text] = Field(default_factory=dict)  # moment -> another number of bytes that is alive


class Tensors(Part):
    """Every tensor kind of the user's job, and what of it is alive at each moment."""

    kind: Literal["tensors"]
    headings: list[str]
    saved_count: str  # formula: how many layers save
    moments: list[Moment]
    rows: list[Tensor]


class Results(Part):
    """Quantities of the user's job, one a row: label, value, unit, name, help, all from the Workings."""

    kind: Literal["results"]
    title: str
    text: str = ""
    rows: list[str]
    emphasis: list[str] = Field(default_factory=list)


class RecordColumn(Part):
    """A column of a table of presets: a field of the record, or a formula over the columns of its row."""

    name: str | None = None
    heading: str
    unit: str
    field: str | None = None
    formula: str | None = None
    style: str | None = None
    own: Literal["text", "whole", "whole_or_0", "number", "yes_no", "family"] | None = None  # what the user's own rows take
    typed: bool = False  # every row is the user's to type, presets too; a field sets.<input> takes what that input takes
    warns: bool = False  # any text in this column says that something is wrong
    own_maximum: str | None = None  # name of the largest number that the user's own rows take
    cell_name: str | None = None  # a name for each cell, such as "{name}_default"


class Records(Part):
    """A table with one row per preset and free rows for the user's own."""

    kind: Literal["records"]
    new_page: bool = False  # in print
    title: str = ""
    text: str = ""
    source: str
    free_rows: int = 0
    settings: str | None = None  # a column <settings>_<input> more for every input that a record of the source sets
    inputs: str | None = None  # a column <inputs>_<input> more for every input, to be typed
    columns: list[RecordColumn]


class OptionLists(Part):
    """One table per choice list, its properties as columns."""

    kind: Literal["options"]
    title: str
    text: str = ""


class Scenarios(Part):
    """A group of scenarios: it types its inputs from a table, or changes rows of the user's job."""

    title: str
    source: str = ""  # `inputs`, or the source of a records block whose rows are scenarios; without one there are `count`
    count: int = 1
    prefix: str | None = None  # names <prefix>_<quantity> span these scenarios
    blank: Literal["default", "yours"] = "default"  # what a blank cell of its table types
    changes: dict[str, Text] = Field(default_factory=dict)  # row -> its formula here, in names of the user's job and scenario_number
    settings: str | None = None  # changes every input that the table with these settings names
    upon: list[str] = Field(default_factory=list)  # prefixes of groups whose changes it takes over: one, or two for their product


class Workings(Part):
    kind: Literal["workings"]
    scenarios: list[Scenarios]


class ChangeLog(Part):
    kind: Literal["changes"]
    title: str


Block = Annotated[
    Heading | Strip | InputTable | OverrideTable | Grid | Tensors | Lines | Steps | Results | Records | OptionLists | Workings | ChangeLog | ChartSpec,
    Field(discriminator="kind"),
]


class SheetLook(Spec):
    """Widths and print area of a sheet in one book."""

    columns: dict[str, float]
    print_to: str | None = None


class SheetSpec(Spec):
    """One sheet: templates/sheets/<nn>_<sheet>.yaml."""

    books: list[Book] = Field(min_length=1)
    name: str
    tab: str = "neutral"
    columns: dict[str, float]
    freeze: tuple[int, int] = Field(default=(0, 0), strict=False)
    repeat_rows: int = 0
    print_to: str | None = None  # last column that is printed, where all of them would be too small to read
    looks: dict[Book, SheetLook] = Field(default_factory=dict)  # of books in which its columns are others
    all_scenarios: bool = False  # left out of the one-column render
    blocks: list[Block]


class BookSpec(Spec):
    """One book: templates/books/<book>.yaml."""

    file: str
    title: str
    subject: str
    keywords: str
    comments: str


class Theme(Spec):
    colours: dict[str, str]
    base: dict[str, Any]
    styles: dict[str, dict[str, Any]]
    chart_series: list[dict[str, Any]]
    chart_bars: list[Look]
    chart_lines: list[Look]
