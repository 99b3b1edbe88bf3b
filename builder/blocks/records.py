"""Tables of presets: one row per record, formulas over the columns of the row, free rows for the user's own."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from builder import settings
from builder.blocks.inputs import validation
from builder.blocks.strip import colour_verdict
from builder.blocks.texts import place_title
from builder.errors import TemplateError
from builder.grid import Condition, Down, Scalar, Sheet, Validation
from builder.specs import RecordColumn, Records
from builder.template import parse


def place(layout, sheet: Sheet, spec: Records, row: int) -> int:
    """Headings, names under them, one row per record and the free rows."""
    records = source_records(layout.presets, spec.source)
    row = place_title(sheet, row, spec.title, spec.text, spec.new_page)
    first, last = row + 2, row + 1 + len(records) + spec.free_rows
    columns = settings.all_columns(layout.presets, spec)
    scope = Down({column.name: index for index, column in enumerate(columns) if column.name})
    for index, column in enumerate(columns):
        sheet.widths.setdefault(index, 16)
        right = column.style in ("value", "output") or (column.style is None and column.unit != "text")  # as the numbers below stand
        sheet.put(row, index, column.heading, "number_heading" if right else "heading")
        sheet.grow(row, column.heading, index)
        sheet.put(row + 1, index, column.name, "name_heading")
        sheet.grow(row + 1, column.name or "", index, 16)  # a wide font, and an indent
        if column.name:
            layout.define(column.name, sheet.area(first, index, last), column.unit, f"sheet {sheet.name}")
        _fill(layout, sheet, spec, column, index, records, first, scope)
    return last + 2


def source_records(presets, source: str) -> Sequence[Any]:
    """The records that a table shows: a collection of the presets, or `measured/<file>`."""
    kind, _, name = source.partition("/")
    if kind == "measured":
        return presets.measured[name].rows
    if kind == "choices":
        return presets.choices[name].rows
    if kind == "inputs":
        return [*presets.inputs, *presets.rules]
    found = getattr(presets, kind, None)
    if found is None:
        raise TemplateError(f"no presets called '{source}'")
    return list(found.values()) if isinstance(found, dict) else list(found)


def _fill(layout, sheet: Sheet, spec: Records, column: RecordColumn, index: int, records: Sequence[Any], first: int, scope: Down) -> None:
    where = f"sheet {sheet.name}, column '{column.heading}'"
    formula = parse(column.formula, where) if column.formula else None
    style = column.style or ("record" if column.unit == "text" else "value")
    for offset in range(len(records) + spec.free_rows):
        row, free = first + offset, offset >= len(records)
        if formula is not None:
            sheet.put(row, index, formula, style, column.unit, scope, where)
        elif column.field == "number":
            sheet.put(row, index, offset + 1, style, column.unit)
        elif free:
            sheet.put(row, index, None, "own", column.unit)
        elif column.typed:
            sheet.put(row, index, as_cell(get(records[offset], column.field), column.unit), "own", column.unit)
        else:
            value = as_cell(get(records[offset], column.field), column.unit)
            sheet.put(row, index, value, style, column.unit)
            if isinstance(value, str) and "text_wrap" in layout.templates.theme.styles[style]:
                sheet.grow(row, value, index, 10)
            # A bound that an input does not have gets no name; a default that is blank does, because scenarios read it.
            if column.cell_name and (value is not None or column.field == "default"):
                name = column.cell_name.format(name=get(records[offset], "name"))
                layout.define(name, sheet.area(row, index), get(records[offset], "unit") if column.unit == "number" else column.unit, where)
    if column.name and column.name.endswith("_verdict"):
        colour_verdict(sheet, first, index, first + len(records) + spec.free_rows - 1)
    if column.typed and column.field and column.field.startswith("sets."):
        item = next(item for item in layout.presets.inputs if item.name == column.field.removeprefix("sets."))
        for row in range(first, first + len(records) + spec.free_rows):
            cell = sheet.area(row, index).a1(with_sheet=False)
            sheet.validations.append(replace(validation(item, row, index, cell), allow_blank=True))
    if spec.free_rows and column.own:
        for row in range(first + len(records), first + len(records) + spec.free_rows):
            _validate_own(sheet, column, row, index)
    if column.warns:
        area = sheet.area(first, index, first + len(records) + spec.free_rows - 1)
        cell = sheet.area(first, index).a1(with_sheet=False).replace("$", "")
        sheet.conditions.append(Condition(area, f'LEN({cell})>0', "wrong"))


def _validate_own(sheet: Sheet, column: RecordColumn, row: int, index: int) -> None:
    title = column.heading[:32]
    if column.own in ("yes_no", "family"):
        source = "=yes_no_choices" if column.own == "yes_no" else "=family_name"
        sheet.validations.append(Validation(row, index, "list", source=source, title=title, error="Pick one of the list."))
    elif column.own == "whole_or_0":
        error = "A whole number from 0, or blank."
        sheet.validations.append(Validation(row, index, "whole", ">=", 0, allow_blank=True, title=title, error=error))
    elif column.own in ("whole", "number"):
        kind = "whole" if column.own == "whole" else "decimal"
        error = "A number above 0, whole where it counts something, and not beyond what the overrides on the Sizing sheet take."
        if column.own_maximum and kind == "whole":
            rule = Validation(row, index, kind, "between", 1, f"={column.own_maximum}", allow_blank=True, title=title, error=error)
        else:
            rule = Validation(row, index, kind, ">", 0, allow_blank=True, title=title, error=error)
        sheet.validations.append(rule)


def get(record: Any, path: str) -> Any:
    """A field of a record by dotted path; None where an optional part is missing."""
    for part in path.split("."):
        record = record.get(part) if isinstance(record, dict) else getattr(record, part, None)
        if record is None:
            return None
    return record


def as_cell(value: Any, unit: str) -> Scalar | None:
    """A preset's value as a cell shows it: Yes and No for booleans, or 1 and 0 where that is the unit, lists joined."""
    if isinstance(value, bool):
        return int(value) if unit == "0 or 1" else "Yes" if value else "No"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if value is None or isinstance(value, (str, int, float, date)):
        return value
    raise TypeError(f"no cell for {value!r}")
