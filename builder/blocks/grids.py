"""Small tables: grids written out cell by cell, and lists of results."""
from __future__ import annotations

from builder.blocks.cells import put_cell, quantity, shown
from builder.blocks.strip import colour_verdict
from builder.blocks.texts import place_headings, place_title
from builder.grid import Sheet, column_number
from builder.specs import Grid, Results
from builder.template import parse


def place_grid(layout, sheet: Sheet, spec: Grid, row: int) -> int:
    """Headings and rows from a start column on."""
    row = place_title(sheet, row, spec.title, spec.text, spec.new_page)
    start = column_number(spec.column)
    place_headings(sheet, row, start, spec.headings, _number_columns(spec))
    row += bool(spec.headings)
    first = row
    for cells in spec.rows:
        if not layout.all_scenarios and _needs_scenarios(layout, sheet, cells):
            continue
        for offset, cell in enumerate(cells):
            put_cell(layout, sheet, row, start + offset, cell)
            if not isinstance(cell, str) and (cell.formula or "").endswith("fit_verdict"):
                colour_verdict(sheet, row, start + offset)
        row += 1
    for letter, name in spec.names.items():
        layout.define(name, sheet.area(first, column_number(letter), row - 1), "text")
    if spec.id:
        layout.grids[spec.id] = sheet.area(first, start, row - 1, start + max(map(len, spec.rows)) - 1)
    return row + 1


def _number_columns(spec: Grid) -> set[int]:
    """Columns, counted from the first, that show results."""
    cells = [(offset, cell) for row in spec.rows for offset, cell in enumerate(row) if not isinstance(cell, str)]
    return {offset for offset, cell in cells if cell.show or (cell.formula and cell.style != "text_value")}


def _needs_scenarios(layout, sheet: Sheet, cells) -> bool:
    """Whether a row shows something of a sheet that the one-column render leaves out."""
    formulas = [parse(cell.formula, f"sheet {sheet.name}") for cell in cells if not isinstance(cell, str) and cell.formula]
    return any(name in layout.scenario_names for formula in formulas for name in formula.names)


def place_results(layout, sheet: Sheet, spec: Results, row: int) -> int:
    """Label, value, unit, name and help of quantities of the user's job."""
    row = place_title(sheet, row, spec.title, spec.text)
    start = sheet.first_column
    place_headings(sheet, row, start, ("Quantity", "Value", "Unit", "Name", "What it is"), {1})
    for name in spec.rows:
        if not layout.all_scenarios and name in layout.left_out:
            continue
        row += 1
        where = f"sheet {sheet.name}, row {row + 1}"
        item = quantity(layout, name, where)
        strong = name in spec.emphasis
        is_verdict = name.endswith("fit_verdict")
        sheet.put(row, start, item.label, "total_label" if strong else "label")
        sheet.put(row, start + 1, parse(name if is_verdict else shown(name), where), "total" if strong else "output", item.unit, where=where)
        sheet.put(row, start + 2, item.unit, "unit")
        sheet.put(row, start + 3, name, "name")
        sheet.put(row, start + 4, item.help, "help")
        sheet.grow(row, item.help, start + 4, 10)
        if is_verdict:
            colour_verdict(sheet, row, start + 1)
    return row + 2
