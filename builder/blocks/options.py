"""Choice lists: one table per list, the properties of its choices as columns."""
from __future__ import annotations

from builder.blocks.texts import place_title
from builder.grid import Sheet
from builder.specs import OptionLists
from builder.units import suffix_unit


def place(layout, sheet: Sheet, spec: OptionLists, row: int) -> int:
    """Every list with its label and name, its choices, and the range names `<list>_choices` and `<list>_<property>`."""
    row = place_title(sheet, row, spec.title, spec.text)
    for choices in layout.presets.choices.values():
        properties = [key for key in choices.rows[0] if key != "name"]
        sheet.put(row, 0, choices.label, "heading")
        for offset, key in enumerate(properties, 1):
            sheet.put(row, offset, key, "number_heading")
            sheet.grow(row, key, offset)
        sheet.put(row, len(properties) + 1, choices.source, "unit")
        first, last = row + 1, row + len(choices.rows)
        layout.define(f"{choices.name}_choices", sheet.area(first, 0, last), "choice")
        for offset, key in enumerate(properties, 1):
            unit = suffix_unit(f"_{key}") or "number"
            layout.define(f"{choices.name}_{key}", sheet.area(first, offset, last), unit)
            for index, choice in enumerate(choices.rows):
                sheet.put(first + index, offset, choice[key], "value", "number")
        for index, choice in enumerate(choices.rows):
            sheet.put(first + index, 0, choice["name"], "label")
        row = last + 2
    return row
