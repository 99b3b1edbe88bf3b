"""Input cells, with the dropdowns, bounds and messages that Excel enforces, and the preset / override / used table."""
from __future__ import annotations

from builder.blocks.cells import shown
from builder.blocks.texts import place_headings, place_title
from builder.grid import Condition, Sheet, Validation
from builder.inputs import CHOICE_KINDS, choices_name
from builder.specs import InputTable, OverrideTable
from builder.template import parse

OVERRIDE = "_override"


def place_inputs(layout, sheet: Sheet, spec: InputTable, row: int) -> int:
    """Label, cell, unit, name and help of every input of one step, overrides of the preset left aside."""
    row = place_title(sheet, row, spec.title, spec.text)
    start = sheet.first_column
    place_headings(sheet, row, start, ("Input", "Yours", "Unit", "Name", "What it is"), {1})
    for item in layout.presets.inputs:
        if item.step == spec.step and not item.name.endswith(OVERRIDE):
            row += 1
            sheet.put(row, start, item.label, "label")
            _put_input(layout, sheet, item, row, start + 1)
            sheet.put(row, start + 2, None if item.unit == "choice" else item.unit, "unit")
            sheet.put(row, start + 3, item.name, "name")
            sheet.put(row, start + 4, item.help, "help")
            sheet.grow(row, item.help, start + 4, 10)
    return row + 2


def place_overrides(layout, sheet: Sheet, spec: OverrideTable, row: int) -> int:
    """Preset, override and used, side by side."""
    row = place_title(sheet, row, spec.title, spec.text)
    start = sheet.first_column
    place_headings(sheet, row, start, ("Quantity", "Preset", "Override", "Used", "Name of the override, and what it is"), {1, 2, 3})
    for item in layout.presets.inputs:
        if item.name.endswith(OVERRIDE):
            row += 1
            name = item.name.removesuffix(OVERRIDE)
            where = f"sheet {sheet.name}, row {row + 1}"
            sheet.put(row, start, item.label.removesuffix(" override"), "label")
            sheet.put(row, start + 1, parse(shown(f"{name}_preset", "base_model_problem=0"), where), "output", item.unit, where=where)
            _put_input(layout, sheet, item, row, start + 2)
            sheet.put(row, start + 3, parse(shown(name), where), "output", item.unit, where=where)
            text = f"{item.name}  {item.help}"
            sheet.put(row, start + 4, text, "help")
            sheet.grow(row, text, start + 4, 10)
    return row + 2


def _put_input(layout, sheet: Sheet, item, row: int, column: int) -> None:
    sheet.put(row, column, item.default, "input", item.unit)
    layout.define(item.name, sheet.area(row, column), item.unit)
    sheet.validations.append(validation(item, row, column, sheet.area(row, column).a1(with_sheet=False)))
    sheet.conditions.append(Condition(sheet.area(row, column), f"{item.name}_problem=1", "wrong"))


def validation(item, row: int, column: int, cell: str) -> Validation:
    """What Excel lets the user type. Deleting or pasting passes it by, which is why the Workings check every input again."""
    texts = {"title": item.label, "prompt": item.help, "error": item.message}
    blank = item.blank == "allowed"
    if item.kind in CHOICE_KINDS:
        # With blanks allowed, Excel takes any text where the list's range holds an empty cell.
        return Validation(row, column, "list", source=f"={choices_name(item)}", allow_blank=False, **texts)
    if item.exclusive_minimum is not None or item.exclusive_maximum is not None:
        tests = [f"ISNUMBER({cell})"]
        tests += [f"{cell}{sign}{bound}" for sign, bound in (
            (">=", item.minimum), (">", item.exclusive_minimum), ("<=", item.maximum), ("<", item.exclusive_maximum)) if bound is not None]
        return Validation(row, column, "custom", source=f"=AND({','.join(tests)})", allow_blank=blank, **texts)
    kind = "whole" if item.kind == "whole" else "decimal"
    maximum = f"={item.maximum_name}" if item.maximum_name else item.maximum
    if maximum is None:
        return Validation(row, column, kind, ">=", item.minimum, allow_blank=blank, **texts)
    return Validation(row, column, kind, "between", item.minimum, maximum, allow_blank=blank, **texts)
