"""Lays a book out: places every block of every sheet and gathers the defined names."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from builder import blocks, constants, settings
from builder.errors import TemplateError, nearest
from builder.formula import Formula
from builder.grid import Area, Cell, Scope, Sheet, column_number, range_name
from builder.specs import CellSpec, Grid, Records
from builder.template import Row, Templates


@dataclass
class Layout:
    """A book laid out: sheets in order, the areas that names stand for, and the unit of every name."""

    presets: object
    templates: Templates
    all_scenarios: bool = True
    sheets: list[Sheet] = field(default_factory=list)
    names: dict[str, Area] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    sections: list[blocks.workings.Section] = field(default_factory=list)  # of the Workings
    rows: dict[str, Row] = field(default_factory=dict)  # their quantities
    grids: dict[str, Area] = field(default_factory=dict)  # grids that charts draw
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)  # prefix -> first and last scenario column of the Workings

    def define(self, name: str, area: Area, unit: str, where: str = "") -> None:
        """Define a workbook-scoped name once; a second definition is an error."""
        if name in self.names:
            raise TemplateError(f"{where or area.sheet}: the name '{name}' is defined twice, at {self.names[name].a1()} and at {area.a1()}")
        self.names[name] = area
        self.units[name] = unit

    def titles_of(self, source: str, title: str) -> tuple[str, ...]:
        """A title for every row of a table, its free rows included: the record's name, or the title and a number."""
        records = blocks.records.source_records(self.presets, source)
        names = [blocks.records.get(record, "name") for record in records]
        named = [name or f"{title} {number}" for number, name in enumerate(names, 1)]
        tables = [block for sheet in self.templates.sheets for block in sheet.blocks if isinstance(block, Records) and block.source == source]
        free = max((block.free_rows for block in tables), default=0)
        return (*named, *(f"{title}, own row {number}" for number in range(1, free + 1)))

    def table_column(self, source: str, field_: str) -> str | None:
        """Name of the column that shows a field of a source, None if no table shows it."""
        tables = (block for sheet in self.templates.sheets for block in sheet.blocks if isinstance(block, Records) and block.source == source)
        return next((column.name for table in tables for column in settings.all_columns(self.presets, table) if column.field in (field_, f"sets.{field_}")), None)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """Quantities that the one-column render leaves out."""
        return frozenset(row.name for line in self.templates.lines if line.all_scenarios for row in line.rows)

    @cached_property
    def scenario_names(self) -> frozenset[str]:
        """Names of the sheets and quantities that the one-column render leaves out."""
        names: set[str] = set(self.left_out)
        for sheet in self.templates.sheets:
            for block in sheet.blocks if sheet.all_scenarios else ():
                if isinstance(block, Records):
                    names.update(column.name for column in block.columns if column.name)
                elif isinstance(block, Grid):
                    names.update(cell.name for row in block.rows for cell in row if isinstance(cell, CellSpec) and cell.name)
        return frozenset(names)

    def area_of(self, reference: str, where: str) -> Area:
        """The area that `name` or `first:last` stands for."""
        first, _, last = reference.partition(":")
        for name in filter(None, (first, last)):
            if name not in self.names:
                raise TemplateError(f"{where}: no name '{name}' in this book{nearest(name, self.names)}")
        start, end = self.names[first], self.names[last or first]
        return Area(start.sheet, start.row, start.column, end.last_row, end.last_column)

    def place(self, cell: Cell, row: int, column: int, absolute: bool = False) -> str:
        """The A1 text of a cell's formula, without `=`; with `absolute`, book names become references as well."""

        def resolve(name: str) -> str:
            found = _in_scope(cell.scope, name, row, column)
            if found is not None:
                return found
            if name not in self.names:
                name = range_name(name)
                self._define_span(name, cell.where)
            if name not in self.names:
                raise TemplateError(f"{cell.where}: no name '{name}' in this book{nearest(name, self.names)}")
            return self.names[name].a1() if absolute else name

        assert isinstance(cell.content, Formula)
        return cell.content.place(resolve)

    def unit_of(self, name: str) -> str | None:
        """Unit of a name, or of the quantity that `<prefix>_<quantity>` spans; None where there is no such name."""
        names = (name, range_name(name), *(name.removeprefix(f"{prefix}_") for prefix in self.spans))
        return next((self.units[each] for each in names if each in self.units), None)

    def _define_span(self, name: str, where: str) -> None:
        """Define `<prefix>_<quantity>`, the row of a quantity over the scenarios of one group, the first time a formula uses it."""
        for prefix, (first, last) in self.spans.items():
            quantity = name.removeprefix(f"{prefix}_")
            if name not in self.names and quantity != name and quantity in self.rows:
                area = self.names[quantity]
                self.define(name, Area(area.sheet, area.row, first, area.row, last), self.units[quantity], where)


def _in_scope(scope: Scope, name: str, row: int, column: int) -> str | None:
    return None if scope is None else scope.find(name, row, column)


def lay_out(presets, templates: Templates, all_scenarios: bool = True) -> Layout:
    """Place every sheet of a book.

    `all_scenarios=False` gives the one-column render: the user's job alone, without the sheets that need the other scenarios; the
    formulas of the user's column are the same in both.
    """
    presets = replace(presets, constants=constants.used(presets, templates))
    layout = Layout(presets, templates, all_scenarios, sections=blocks.workings.sections(presets, templates, all_scenarios))
    layout.rows = {row.name: row for section in layout.sections for row in section.rows}
    for spec in templates.sheets:
        if all_scenarios or not spec.all_scenarios:
            widths = {column_number(letter): width for letter, width in spec.columns.items()}
            sheet = Sheet(spec.name, widths, spec.freeze, spec.repeat_rows, column_number(spec.print_to) if spec.print_to else None, spec.tab)
            layout.sheets.append(sheet)
            row = 0
            for block in spec.blocks:
                row = blocks.PLACERS[block.kind](layout, sheet, block, row)
    for sheet in layout.sheets:  # charts name areas of sheets to their right as well
        for finish in sheet.later:
            finish()
    return layout
