"""Cached values: what every formula cell shows, computed by formualizer before the book is written."""
from __future__ import annotations

from datetime import date

import formualizer

from builder.engines.formualizer_engine import ERRORS
from builder.errors import TemplateError
from builder.formula import Formula
from builder.layout import Layout

Value = str | float | int | bool


def evaluate(layout: Layout) -> dict[tuple[str, int, int], Value]:
    """Value of every formula cell by (sheet, row, column), 0-based.

    Raises TemplateError where a cell of a book with its default inputs shows an error: nothing ships broken.
    """
    book = formualizer.Workbook()
    places: list[tuple[str, int, int]] = []
    for sheet in layout.sheets:
        book.add_sheet(sheet.name)
    for sheet in layout.sheets:
        for (row, column), cell in sheet.cells.items():
            if isinstance(cell.content, Formula):
                book.set_formula(sheet.name, row + 1, column + 1, "=" + layout.place(cell, row, column, absolute=True))
                places.append((sheet.name, row, column))
            elif cell.content is not None and not isinstance(cell.content, date):
                book.set_value(sheet.name, row + 1, column + 1, cell.content)
    book.evaluate_all()
    return {place: _value(book.get_value(place[0], place[1] + 1, place[2] + 1), place) for place in places}


def _value(value, place: tuple[str, int, int]) -> Value:
    if isinstance(value, dict):
        sheet, row, column = place
        raise TemplateError(f"sheet {sheet}, row {row + 1}, column {column + 1}: shows {ERRORS.get(value.get('kind'), value)} with the default inputs")
    if value is None:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
