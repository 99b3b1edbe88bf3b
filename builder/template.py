"""Templates: line items, sheets, books and the theme, as data."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from builder.errors import TemplateError
from builder.formula import Formula, FormulaSyntaxError, read
from builder.parts import parts_of
from builder.specs import BookSpec, Grid, GridRow, LineSpec, SheetSpec, Theme
from builder.strict_yaml import load
from builder.units import Unit, read_units
from builder.validate import validate

ROOT = Path(__file__).resolve().parent.parent / "templates"


@dataclass(frozen=True)
class Row:
    """One quantity of the Workings."""

    name: str
    label: str
    unit: str
    text: str
    help: str = ""
    source: str = ""
    where: str = ""

    @cached_property
    def formula(self) -> Formula:
        return parse(self.text, self.where or self.name)


@dataclass(frozen=True)
class Line:
    slug: str
    title: str
    order: int
    help: str
    source: str
    rows: tuple[Row, ...]
    all_scenarios: bool = False


@dataclass(frozen=True)
class Templates:
    """Everything that one book is rendered from, in order."""

    slug: str
    book: BookSpec
    theme: Theme
    units: dict[str, Unit]
    lines: tuple[Line, ...]
    sheets: tuple[SheetSpec, ...]


def parse(text: str, where: str) -> Formula:
    """Read a template's formula; a syntax error names the place."""
    try:
        return read(text)
    except FormulaSyntaxError as error:
        raise TemplateError(f"{where}: {error}") from None


def load_templates(book: str, root: Path = ROOT) -> Templates:
    """Load and validate the templates of one book.

    Raises TemplateError naming file, line and the nearest valid name.
    """
    sheets = [validate(SheetSpec, load(path)) for path in sorted((root / "sheets").glob("*.yaml"))]
    lines = [_line(path, book) for path in sorted((root / "lines").glob("*.yaml"))]
    return Templates(
        slug=book,
        book=validate(BookSpec, load(root / "books" / f"{book}.yaml")),
        theme=validate(Theme, load(root / "theme.yaml")),
        units=read_units(load(root / "units.yaml").data),
        lines=tuple(sorted(filter(None, lines), key=lambda line: line.order)),
        sheets=tuple(_sheet(sheet, book) for sheet in sheets if book in sheet.books),
    )


def _sheet(spec: SheetSpec, book: str) -> SheetSpec:
    """A sheet as it stands in a book: its blocks, rows of grids as plain lists of cells, and its columns."""
    blocks = [
        block.model_copy(update={"rows": [row.cells if isinstance(row, GridRow) else row for row in block.rows]}) if isinstance(block, Grid) else block
        for block in parts_of(spec.blocks, book)
    ]
    look = spec.looks.get(book, spec)
    return spec.model_copy(update={"blocks": blocks, "columns": look.columns, "print_to": look.print_to})


def _line(path: Path, book: str) -> Line | None:
    document = load(path)
    spec = validate(LineSpec, document)
    if book not in spec.books:
        return None
    rows = tuple(
        Row(row.name, row.label, row.unit, row.formula, row.help, row.source or spec.source, document.where(("rows", index, "formula")))
        for index, row in enumerate(spec.rows) if row.books is None or book in row.books
    )
    return Line(path.stem, spec.title, spec.order, spec.help, spec.source, rows, spec.all_scenarios)
