"""Writes a laid-out book with XlsxWriter, which only this module, charts.py and shared.py know."""
from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter

from builder import __version__
from builder.blocks.changes import read_changes
from builder.blocks.texts import HOME
from builder.charts import draw
from builder.errors import SizingError
from builder.formula import Formula
from builder.grid import Cell, Sheet
from builder.layout import Layout
from builder.shared import SharingWorksheet, find_runs

# What a user may still do on a protected sheet: adapt its look, not its formulas.
PROTECTION = {"format_cells": True, "format_columns": True, "format_rows": True, "select_locked_cells": True, "select_unlocked_cells": True,
              "autofilter": True, "sort": True}


def render(layout: Layout, values: Mapping[tuple[str, int, int], object], path: Path) -> None:
    """Write the book with its cached values. The same layout gives the same bytes: every time stamp is the release's."""
    _Renderer(layout, values, path).write()


class _Renderer:
    def __init__(self, layout: Layout, values: Mapping[tuple[str, int, int], object], path: Path):
        self.layout, self.values, self.path = layout, values, path
        self.theme, self.units = layout.templates.theme, layout.templates.units
        self.packed = BytesIO()
        self.book = xlsxwriter.Workbook(self.packed, {"in_memory": True, "strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False})
        self.formats: dict[tuple[str, str | None], object] = {}
        self.conditional = {}

    def write(self) -> None:
        spec = self.layout.templates.book
        self.book.set_properties({
            "title": spec.title, "subject": spec.subject, "keywords": spec.keywords, "comments": spec.comments,
            "author": "GPU sizing workbooks", "category": f"Version {__version__}",
            "created": datetime.combine(read_changes()[0][1], datetime.min.time()),
        })
        self.book.set_calc_mode("auto")
        self.book.set_size(2400, 1500)
        sheets = [(sheet, self.book.add_worksheet(sheet.name, SharingWorksheet)) for sheet in self.layout.sheets]
        formulas = {sheet.name: self._formulas(sheet, worksheet) for sheet, worksheet in sheets}  # before the names: placing defines spans
        for name, area in sorted(self.layout.names.items()):
            self.book.define_name(name, "=" + area.a1())
        for sheet, worksheet in sheets:
            self._sheet(sheet, worksheet, formulas[sheet.name])
        self.book.close()
        try:
            self._repack()
        except OSError as error:
            raise SizingError(f"{self.path}: cannot be written ({error.strerror})") from None

    def _repack(self) -> None:
        """Deflate again as hard as it goes: XlsxWriter has no such option, and the book loses a tenth of its size."""
        with ZipFile(self.packed) as parts, ZipFile(self.path, "w", ZIP_DEFLATED, compresslevel=9) as book:
            for part in parts.infolist():
                book.writestr(part, parts.read(part), ZIP_DEFLATED, 9)

    def _formulas(self, sheet: Sheet, worksheet: SharingWorksheet) -> dict[tuple[int, int], str]:
        """Text of every formula; of those that share one only the first has it."""
        runs = find_runs(sheet.cells)
        worksheet.share(runs)
        shared = {at: "0" for run in runs for at in run[1:]}
        return shared | {at: self.layout.place(cell, *at) for at, cell in sheet.cells.items() if isinstance(cell.content, Formula) and at not in shared}

    def _sheet(self, sheet: Sheet, worksheet, formulas: Mapping[tuple[int, int], str]) -> None:
        for column, width in sheet.widths.items():
            worksheet.set_column(column, column, width)
        for row, height in sheet.heights.items():
            worksheet.set_row(row, height)
        for (row, column), cell in sheet.cells.items():
            self._cell(worksheet, sheet.name, row, column, cell, formulas)
        for link in sheet.links:
            target = f"external:{link.target}" if link.outside else f"internal:'{link.target}'!A1"
            worksheet.write_url(link.row, link.column, target, self._format("link", None), link.text)
        for item in sheet.validations:
            worksheet.data_validation(item.row, item.column, item.row, item.column, _validation(item))
        for item in sheet.conditions:
            area = item.area
            worksheet.conditional_format(area.row, area.column, area.last_row, area.last_column,
                                         {"type": "formula", "criteria": "=" + item.formula, "format": self._conditional(item.style)})
        for chart in sheet.charts:
            drawn = draw(self.book, self.layout, self.values, chart)
            worksheet.insert_chart(chart.row, chart.column, drawn, {"description": chart.description, "object_position": 2})
        self._page(sheet, worksheet)

    def _cell(self, worksheet, sheet: str, row: int, column: int, cell: Cell, formulas: Mapping[tuple[int, int], str]) -> None:
        style = self._format(cell.style, cell.unit)
        match cell.content:
            case None:
                worksheet.write_blank(row, column, None, style)
            case Formula():
                worksheet.write_formula(row, column, "=" + formulas[row, column], style, self.values.get((sheet, row, column), 0))
            case bool():
                worksheet.write_boolean(row, column, cell.content, style)
            case int() | float():
                worksheet.write_number(row, column, cell.content, style)
            case date():
                worksheet.write_datetime(row, column, datetime.combine(cell.content, datetime.min.time()), style)
            case _:
                worksheet.write_string(row, column, cell.content, style)

    def _page(self, sheet: Sheet, worksheet) -> None:
        if sheet.freeze != (0, 0):
            worksheet.freeze_panes(*sheet.freeze)
        worksheet.hide_gridlines(2)
        worksheet.set_tab_color(self._colour(sheet.tab or "neutral"))
        worksheet.set_landscape()
        worksheet.set_paper(9)
        worksheet.fit_to_pages(1, 0)
        worksheet.set_margins(0.4, 0.4, 0.5, 0.6)
        if sheet.print_to is not None:
            last = max([row for row, _ in sheet.cells] + [chart.row + chart.height // 20 for chart in sheet.charts])
            worksheet.print_area(0, 0, last, sheet.print_to)
        worksheet.set_h_pagebreaks(sheet.page_breaks)
        if sheet.repeat_rows:
            worksheet.repeat_rows(0, sheet.repeat_rows - 1)
        worksheet.set_footer(f"&L{self.layout.templates.book.title.replace('&', '&&')}, version {__version__}&C&A&RPage &P of &N")
        worksheet.protect("", PROTECTION)
        if sheet.name == HOME:
            first = min((item.row, item.column) for item in sheet.validations)
            worksheet.set_selection(*first, *first)

    def _format(self, style: str, unit: str | None):
        if (style, unit) not in self.formats:
            properties = {**self.theme.base, **self.theme.styles[style]}
            if unit is not None:
                properties["num_format"] = self.units[unit].format
            self.formats[style, unit] = self.book.add_format(self._colours(properties))
        return self.formats[style, unit]

    def _conditional(self, style: str):
        if style not in self.conditional:
            self.conditional[style] = self.book.add_format(self._colours(self.theme.styles[style]))
        return self.conditional[style]

    def _colours(self, properties: Mapping) -> dict:
        return {key: self._colour(value) if key.endswith("color") else value for key, value in properties.items()}

    def _colour(self, name: str) -> str:
        return self.theme.colours[name]


def _validation(item) -> dict:
    options = {"validate": item.kind, "ignore_blank": item.allow_blank, "error_type": "stop", "show_error": True}
    if item.kind in ("list", "custom"):
        options["source" if item.kind == "list" else "value"] = item.source
    elif item.criteria == "between":
        options |= {"criteria": "between", "minimum": item.minimum, "maximum": item.maximum}
    else:
        options |= {"criteria": item.criteria, "value": item.minimum}
    if item.prompt:
        options |= {"input_title": item.title, "input_message": item.prompt}
    if item.error:
        options |= {"error_title": "Not accepted", "error_message": item.error}
    return options
