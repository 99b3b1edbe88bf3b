"""Workings: one row per quantity, one column per scenario, one formula per row across all scenarios."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builder.grid import Across, Sheet
from builder.inputs import check_rows, typed_formula, used_row
from builder.specs import Scenarios, Workings
from builder.template import Row, parse

LABEL, NAME, UNIT, USER, FORMULA, SOURCE, OTHERS = range(7)


@dataclass(frozen=True)
class Section:
    """A band of rows; `typed` rows differ by where the scenario's inputs come from."""

    title: str
    rows: tuple[Row, ...]
    help: str = ""


def sections(presets, templates) -> list[Section]:
    """Every section of the Workings in order: inputs as typed, their checks, inputs used, then the line items."""
    inputs = presets.inputs
    typed = [Row(f"{spec.name}_typed", f"{spec.label}, as typed", spec.unit, typed_formula(spec.name)) for spec in inputs]
    return [
        Section("Scenario", (Row("scenario_number", "Number of the scenario in its group", "count", ""),), "A constant: it picks the row of the scenario's table."),
        Section("Inputs as typed", tuple(typed), "Blank is shown as empty text, an error as *error*."),
        Section("Input checks: 1 where an input is wrong", tuple(check_rows(inputs, presets.rules))),
        Section("Inputs used", tuple(used_row(spec) for spec in inputs), "Not available while the input is wrong, so that no figure is built on a default."),
        *(Section(line.title, line.rows, line.help) for line in templates.lines),
    ]


def place(layout, sheet: Sheet, spec: Workings, row: int) -> int:
    """Headings, then every section; scenario columns after the user's."""
    scenarios = _columns(layout, spec.scenarios if layout.all_scenarios else spec.scenarios[:1])
    for column, heading in ((LABEL, "Quantity"), (NAME, "Name"), (UNIT, "Unit"), (FORMULA, "Formula, in names"), (SOURCE, "Source")):
        sheet.put(row, column, heading, "text_heading" if column == FORMULA else "heading")
    for column, title, _, _ in scenarios:
        sheet.put(row, column, title, "number_heading")
        sheet.widths.setdefault(column, 18)
    places: dict[str, int] = {}
    at = row + 1
    for part in layout.sections:
        at += 1
        for item in part.rows:
            places[item.name] = at
            at += 1
    scope = Across(places)
    for part in layout.sections:
        first = places[part.rows[0].name]
        sheet.band(first - 1, part.title)
        sheet.put(first - 1, FORMULA, part.help or None, "band")
        for item in part.rows:
            _put_row(layout, sheet, item, places[item.name], scenarios, scope)
    return at + 1


def _columns(layout, groups: Sequence[Scenarios]) -> list[tuple[int, str, Scenarios, int]]:
    """(column, title, group, number in group) of every scenario; the names of a group span its columns."""
    columns, at = [], USER
    for group in groups:
        count = 1 if group.source == "inputs" else layout.records_of(group.source)
        if group.prefix:
            layout.spans[group.prefix] = (at, at + count - 1)
        for number in range(1, count + 1):
            columns.append((at, group.title if count == 1 else f"{group.title} {number}", group, number))
            at += 1
        at = max(at, OTHERS)
    return columns


def _put_row(layout, sheet: Sheet, item: Row, row: int, scenarios, scope: Across) -> None:
    sheet.put(row, LABEL, item.label, "label")
    sheet.put(row, NAME, item.name, "name")
    sheet.put(row, UNIT, item.unit, "unit")
    sheet.put(row, FORMULA, item.text or None, "formula_text")
    sheet.put(row, SOURCE, item.source or None, "help")
    sheet.grow(row, item.text, FORMULA, 17)  # a wide font, and names that do not break
    sheet.grow(row, item.source, SOURCE, 10)
    style = "text_value" if item.unit in ("text", "choice") else "value"  # a long text is cut at its end, not at its start
    where = item.where or f"sheet {sheet.name}, row '{item.name}'"
    layout.define(item.name, sheet.area(row, USER), item.unit, where)
    for column, _, group, number in scenarios:
        if not item.text:
            sheet.put(row, column, number, "value", item.unit)
            continue
        formula = item.formula if not item.name.endswith("_typed") or group.source == "inputs" else _typed(layout, item, group, number, where)
        sheet.put(row, column, formula, style, item.unit, scope, where)


def _typed(layout, item: Row, group: Scenarios, number: int, where: str):
    """What a scenario of a table types: its row of the table's column, or the input's default where the table has no such column."""
    name = item.name.removesuffix("_typed")
    table = layout.table_column(group.source, name)
    return parse(typed_formula(f"INDEX({table}, scenario_number)" if table else f"{name}_default"), where)
