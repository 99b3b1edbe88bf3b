"""The answer strip: five rows at the top of a sheet that stay on screen."""
from __future__ import annotations

from builder.blocks.cells import NO_FIGURE, put_cell
from builder.grid import Condition, Sheet, column_number
from builder.specs import Strip

# Verdict text constant -> style of the cell that shows it.
VERDICT_STYLES = {"verdict_fits": "fits", "verdict_tight": "tight", "verdict_does_not_fit": "does_not_fit", "verdict_not_modelled": "check", "verdict_check_inputs": "check"}


def place(layout, sheet: Sheet, spec: Strip, row: int) -> int:
    """Title, labels, values, message and notes."""
    last = max(column_number(letter) for letter in spec.values)
    for column in range(sheet.first_column, last + 1):
        sheet.put(row, column, layout.templates.book.title if column == sheet.first_column else None, "strip_title")
        sheet.put(row + 1, column, None, "strip_label")
    sheet.heights.update({row: 22, row + 2: 27, row + 3: 20, row + 4: 18})
    for letter, cell in spec.values.items():
        column = column_number(letter)
        sheet.put(row + 1, column, cell.text, "strip_label")
        formula = cell.formula or f'IF(ISNUMBER({cell.show}), {cell.show}, "{NO_FIGURE}")'
        put_cell(layout, sheet, row + 2, column, cell.model_copy(update={"text": None, "show": None, "formula": formula, "style": "strip_value"}))
    put_cell(layout, sheet, row, last, spec.checks.model_copy(update={"style": "strip_checks"}))
    message = spec.message if layout.all_scenarios else spec.one_column_message
    put_cell(layout, sheet, row + 3, sheet.first_column, message.model_copy(update={"style": "strip_message"}))
    put_cell(layout, sheet, row + 4, sheet.first_column, spec.notes.model_copy(update={"style": "strip_note"}))
    colour_verdict(sheet, row + 2, column_number(spec.verdict))
    return row + 5


def colour_verdict(sheet: Sheet, row: int, column: int, last_row: int | None = None) -> None:
    """Conditional formats that colour a verdict by its text."""
    area = sheet.area(row, column, last_row, column)
    first = sheet.area(row, column).a1(with_sheet=False).replace("$", "")
    for constant, style in VERDICT_STYLES.items():
        sheet.conditions.append(Condition(area, f"{first}={constant}", style))
