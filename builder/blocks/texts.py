"""Headings: of a sheet, of a block, of columns."""
from __future__ import annotations

from collections.abc import Container, Sequence

from builder.grid import Link, Sheet
from builder.specs import Heading

# The sheet that holds the inputs and the answer: every other sheet links back to it.
HOME = "Sizing"


def place_heading(layout, sheet: Sheet, spec: Heading, row: int) -> int:
    """Title, one line of text, and a link back to the answer: three rows."""
    column = sheet.first_column
    sheet.put(row, column, spec.title, "title")
    sheet.heights[row] = 24
    sheet.put(row + 1, column, spec.text, "subtitle")
    sheet.links.append(Link(row + 2, column, HOME, f"Go to {HOME}"))
    return row + 3


def place_headings(sheet: Sheet, row: int, column: int, headings: Sequence[str], numbers: Container[int] = ()) -> None:
    """Column headings; over the columns of `numbers`, counted from the first, they stand right, as the numbers do."""
    for offset, heading in enumerate(headings):
        after_number = offset - 1 in numbers
        sheet.put(row, column + offset, heading, "number_heading" if offset in numbers else "text_heading" if after_number else "heading")
        sheet.grow(row, heading, column + offset)


def place_title(sheet: Sheet, row: int, title: str, text: str = "", new_page: bool = False) -> int:
    """The band over a block, and a line of help below it; on a new page of the print where asked for."""
    if new_page:
        sheet.page_breaks.append(row)
    if title:
        sheet.band(row, title)
        row += 1
    if text:
        sheet.put(row, sheet.first_column, text, "subtitle")
        row += 1
    return row
