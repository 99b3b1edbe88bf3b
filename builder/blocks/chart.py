"""Charts over named ranges or over the rows of a grid."""
from __future__ import annotations

from builder.grid import Chart, Series, Sheet, column_number
from builder.specs import ChartSpec


def place(layout, sheet: Sheet, spec: ChartSpec, row: int) -> int:
    """Reserve the rows; the ranges are looked up once every name is defined."""

    def finish() -> None:
        series = _of_grid(layout, spec) if spec.grid else _of_names(layout, sheet, spec)
        sheet.charts.append(Chart(row, column_number(spec.column), spec.type, spec.title, spec.description, series, spec.x_title, spec.y_title,
                                  height=spec.rows * 20))

    sheet.later.append(finish)
    return row + spec.rows + 1


def _of_grid(layout, spec: ChartSpec) -> tuple[Series, ...]:
    """Every row of a grid is a series: its name in the first column, one value per bar in the second to the fourth, under their headings."""
    area = layout.grids[spec.grid]
    sheet = next(sheet for sheet in layout.sheets if sheet.name == area.sheet)
    first, last = area.column + 1, area.column + 3
    heading = sheet.area(area.row - 1, first, area.row - 1, last)
    looks = layout.templates.theme.chart_series
    return tuple(
        Series(sheet.area(row, area.column), sheet.area(row, first, row, last), heading, looks[(row - area.row) % len(looks)])
        for row in range(area.row, area.last_row + 1)
    )


def _of_names(layout, sheet: Sheet, spec: ChartSpec) -> tuple[Series, ...]:
    where = f"chart '{spec.title}' of sheet {sheet.name}"
    return tuple(
        Series(item.title, layout.area_of(item.values, where), layout.area_of(item.categories, where) if item.categories else None, item.look)
        for item in spec.series
    )
