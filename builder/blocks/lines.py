"""Tables of lines: quantities of the Workings with their coefficients, from which limits are solved."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from builder.blocks.cells import quantity
from builder.blocks.texts import place_headings, place_title
from builder.grid import Down, Sheet
from builder.solver_specs import LineGroup, Lines, Steps
from builder.template import parse

UNIT = "coefficient"
LABEL, NAME, NAME_WIDTH = "Line", "Name", 42


def quantities(names: list[str], group: LineGroup) -> list[str]:
    """The quantities of a group, from its first to its last."""
    return names[names.index(group.first):names.index(group.last) + 1]


def formulas(spec: Lines, names: list[str]) -> Iterator[str]:
    """Every formula of a table of lines; `names` are the quantities of the Workings in order."""
    for group in spec.groups:
        for name in quantities(names, group):
            yield from (column.formula.format(quantity=name) for column in spec.columns)


def place(layout, sheet: Sheet, spec: Lines, row: int) -> int:
    """One row per quantity; `<prefix>_<column>` is a column, `<group>_<column>` the part of it that a group takes."""
    row = place_title(sheet, row, spec.title, spec.text, spec.new_page)
    start = sheet.first_column
    first_column, last_column = start + 1, start + 1 + len(spec.columns)
    sheet.widths.setdefault(last_column, NAME_WIDTH)
    place_headings(sheet, row, start, (LABEL, *(column.heading for column in spec.columns), NAME), set(range(1, last_column - start)))
    first, row = row + 1, row + 1
    scope = Down({f"{spec.prefix}_{column.name}": first_column + offset for offset, column in enumerate(spec.columns)})
    names = list(layout.rows)
    for group in spec.groups:
        top = row
        for name in quantities(names, group):
            where = f"sheet {sheet.name}, line '{name}'"
            label = quantity(layout, name, where).label
            sheet.put(row, start, label, "label")
            sheet.grow(row, label, start)
            sheet.put(row, last_column, name, "name")
            for offset, column in enumerate(spec.columns):
                sheet.put(row, first_column + offset, parse(column.formula.format(quantity=name), where), "value", UNIT, scope, where)
            row += 1
        for span, offsets in _spans(spec):
            layout.define(f"{group.name}_{span}", sheet.area(top, first_column + offsets[0], row - 1, first_column + offsets[-1]), UNIT)
    for offset, column in enumerate(spec.columns):
        layout.define(f"{spec.prefix}_{column.name}", sheet.area(first, first_column + offset, row - 1), UNIT)
    return row + 1


def _spans(spec: Lines) -> Iterator[tuple[str, list[int]]]:
    """(name, offsets of its columns) of the columns and of the neighbours that share a span."""
    columns = list(enumerate(spec.columns))
    for span, members in groupby(columns, lambda item: item[1].span or item[1].name):
        yield span, [offset for offset, _ in members]


def place_steps(layout, sheet: Sheet, spec: Steps, row: int) -> int:
    """The first row, and every other from the one above it; each column has a name over all its rows."""
    row = place_title(sheet, row, spec.title, spec.text, spec.new_page)
    start = sheet.first_column
    place_headings(sheet, row, start, [column.heading for column in spec.columns], set(range(len(spec.columns))))
    scope = Down({column.name: start + offset for offset, column in enumerate(spec.columns)}, above=True)
    for offset, column in enumerate(spec.columns):
        where = f"sheet {sheet.name}, column '{column.heading}'"
        layout.define(column.name, sheet.area(row + 1, start + offset, row + spec.rows), column.unit, where)
        for number in range(spec.rows):
            formula = parse(column.formula if number else column.first, where)
            sheet.put(row + 1 + number, start + offset, formula, "value", column.unit, scope, where)
    return row + spec.rows + 2
