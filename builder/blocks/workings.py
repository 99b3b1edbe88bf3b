"""Workings: one row per quantity, one column per scenario, one formula per row across all scenarios."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder import scenarios, settings
from builder.blocks import lines
from builder.formula import Formula
from builder.grid import Across, Sheet
from builder.inputs import check_rows, typed_formula, used_row
from builder.scenarios import NUMBER, Group
from builder.solver_specs import Lines
from builder.specs import Scenarios, Workings
from builder.template import Row, parse

LABEL, NAME, UNIT, USER, FORMULA, SOURCE, OTHERS = range(7)
CHECKS = "Input checks: 1 where an input is wrong"


@dataclass(frozen=True)
class Section:
    """A band of rows; `typed` rows differ by where the scenario's inputs come from."""

    title: str
    rows: tuple[Row, ...]
    help: str = ""


def sections(presets, templates, all_scenarios: bool = True) -> list[Section]:
    """Every section of the Workings in order: inputs as typed, their checks, inputs used, then the line items."""
    inputs = presets.inputs
    typed = [Row(f"{spec.name}_typed", f"{spec.label}, as typed", spec.unit, typed_formula(spec.name)) for spec in inputs]
    return [
        Section("Scenario", (Row(NUMBER, "Number of the scenario in its group", "count", ""),), "A constant: it picks the row of the scenario's table."),
        Section("Inputs as typed", tuple(typed), "Blank is shown as empty text, an error as *error*."),
        Section(CHECKS, tuple(check_rows(inputs, presets.rules))),
        Section("Inputs used", tuple(used_row(spec) for spec in inputs), "Not available while the input is wrong, so that no figure is built on a default."),
        *(Section(line.title, line.rows, line.help) for line in templates.lines if all_scenarios or not line.all_scenarios),
    ]


def place(layout, sheet: Sheet, spec: Workings, row: int) -> int:
    """Headings, then every section; scenario columns after the user's."""
    groups = _groups(layout, spec.scenarios if layout.all_scenarios else spec.scenarios[:1])
    checks = [item.name for part in layout.sections if part.title == CHECKS for item in part.rows]
    scenarios.fill(groups, layout.rows, checks, _texts(layout))
    for column, heading in ((LABEL, "Quantity"), (NAME, "Name"), (UNIT, "Unit"), (FORMULA, "Formula, in names"), (SOURCE, "Source")):
        sheet.put(row, column, heading, "text_heading" if column == FORMULA else "heading")
    places: dict[str, int] = {}
    at = row + 1
    for part in layout.sections:
        at += 1
        for item in part.rows:
            places[item.name] = at
            at += 1
    for part in layout.sections:
        first = places[part.rows[0].name]
        sheet.band(first - 1, part.title)
        sheet.put(first - 1, FORMULA, part.help or None, "band")
        for item in part.rows:
            _put_row(layout, sheet, item, places[item.name])
    for group in groups:
        _put_group(layout, sheet, group, row, places)
    return at + 1


def _groups(layout, specs: Sequence[Scenarios]) -> list[Group]:
    """Every group with its columns; the names of a group span them."""
    groups: dict[str | None, Group] = {}
    at = USER
    for spec in specs:
        if spec.settings:
            spec = spec.model_copy(update={"changes": settings.changes(layout.presets, spec.source, spec.settings) | spec.changes})
        parents = tuple(groups[prefix] for prefix in spec.upon)
        group = groups[spec.prefix] = Group(spec, _titles(layout, spec, parents), at, parents=parents)
        if spec.prefix:
            layout.spans[spec.prefix] = (at, at + group.count - 1)
        at = max(at + group.count, OTHERS)
    return list(groups.values())


def _titles(layout, spec: Scenarios, parents: tuple[Group, ...]) -> tuple[str, ...]:
    if len(parents) > 1:
        inner, outer = parents
        return tuple(f"{one}, {other}" for other in outer.titles for one in inner.titles)
    if parents:
        return tuple(f"{title}, {spec.title}" for title in parents[0].titles)
    if spec.source == "inputs" or not spec.source:
        return (spec.title,) if spec.count == 1 else tuple(f"{spec.title} {number}" for number in range(1, spec.count + 1))
    return layout.titles_of(spec.source, spec.title)


def _texts(layout) -> Iterator[str]:
    """Every formula that may ask something of a group."""
    for row in layout.rows.values():
        yield row.text
    for sheet in layout.templates.sheets:
        yield str(sheet.model_dump(exclude_none=True))
        for block in sheet.blocks:
            if isinstance(block, Lines):
                yield from lines.formulas(block, list(layout.rows))


def _put_row(layout, sheet: Sheet, item: Row, row: int) -> None:
    """What stands beside the columns of a row, and its name, which is that of the user's column."""
    sheet.put(row, LABEL, item.label, "label")
    sheet.put(row, NAME, item.name, "name")
    sheet.put(row, UNIT, item.unit, "unit")
    sheet.put(row, FORMULA, item.text or None, "formula_text")
    sheet.put(row, SOURCE, item.source or None, "help")
    sheet.grow(row, item.text, FORMULA, 17)  # a wide font, and names that do not break
    sheet.grow(row, item.source, SOURCE, 10)
    layout.define(item.name, sheet.area(row, USER), item.unit, item.where or f"sheet {sheet.name}, row '{item.name}'")


def _put_group(layout, sheet: Sheet, group: Group, heading: int, places: Mapping[str, int]) -> None:
    """Headings and cells of a group, block by block: within one, every cell of a row has the same formula."""
    block = group.parents[0].count if group.parents else group.count
    own = {name: places[name] for name in group.rows}
    rows = [item for part in layout.sections for item in part.rows if item.name in own]
    formulas = {item.name: _formula(layout, group, item) for item in rows}
    for start in range(0, group.count, block):
        elsewhere = scenarios.same_column(group, start) if group.derived else {}
        scope = _scope(own, elsewhere, places, group.first + start)
        numbered = Across({NUMBER: places[NUMBER]})  # a changed row reads the user's job, and which scenario it is
        for index in range(start, start + block):
            column = group.first + index
            sheet.put(heading, column, group.titles[index], "number_heading")
            sheet.grow(heading, group.titles[index], column)
            sheet.widths.setdefault(column, 18)
            for item in rows:
                _put_cell(sheet, item, places[item.name], column, formulas[item.name], index + 1,
                          numbered if _changed(group, item.name) else scope)


def _scope(own: Mapping[str, int], elsewhere, places: Mapping[str, int], column: int) -> Across:
    other = {name: at for name, at in elsewhere.items() if name not in own}
    return Across(
        {**{name: places[name] for name in other}, **own},
        {name: at - column for name, (at, fixed) in other.items() if not fixed},
        {name: at for name, (at, fixed) in other.items() if fixed},
    )


def _changed(group: Group, name: str) -> bool:
    return name in group.spec.changes or (group.spec.source != "inputs" and not group.derived and name.endswith("_typed"))


def _formula(layout, group: Group, item: Row) -> Formula | None:
    """Formula of a row in a group; None for the number of the scenario, which is a constant."""
    where = item.where or f"row '{item.name}'"
    if item.name in group.spec.changes:
        return parse(group.spec.changes[item.name], f"scenarios '{group.spec.title}', {item.name}")
    if item.name.endswith("_typed") and group.spec.source != "inputs":
        return _typed(layout, group, item, where)
    return item.formula if item.text else None


def _typed(layout, group: Group, item: Row, where: str) -> Formula:
    """What a scenario of a table types: its row of the table's column; a blank cell, or no such column, is the default or yours."""
    name = item.name.removesuffix("_typed")
    table = layout.table_column(group.spec.source, name)
    if group.spec.blank == "default":
        return parse(typed_formula(f"INDEX({table}, {NUMBER})" if table else f"{name}_default"), where)
    if table is None:
        return parse(f"{name}_typed", where)
    return parse(f"IF(ISBLANK(INDEX({table}, {NUMBER})), {name}_typed, {typed_formula(f'INDEX({table}, {NUMBER})')})", where)


def _put_cell(sheet: Sheet, item: Row, row: int, column: int, formula: Formula | None, number: int, scope: Across) -> None:
    if formula is None:
        sheet.put(row, column, number, "value", item.unit)
        return
    style = "text_value" if item.unit in ("text", "choice") else "value"  # a long text is cut at its end, not at its start
    sheet.put(row, column, formula, style, item.unit, scope, item.where or f"sheet {sheet.name}, row '{item.name}'")
