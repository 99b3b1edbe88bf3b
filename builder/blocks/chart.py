"""Charts over named ranges or over the rows of a grid."""
from __future__ import annotations

from collections.abc import Mapping

from builder.chart_specs import ChartSpec, Look, SeriesSpec
from builder.errors import TemplateError, nearest
from builder.grid import Area, Axis, Chart, Series, Sheet, column_number
from builder.specs import Theme

VALUE_AXES = {"stacked_bar": "x", "bar": "x", "column": "y", "scatter": "xy"}
LINE_KEYS = {"line", "width", "marker", "size", "inside"}
UNDRAWN = {"stacked_bar": LINE_KEYS, "bar": LINE_KEYS, "column": set(), "scatter": {"pattern"}}  # keys of a look that a type has no use for


def place(layout, sheet: Sheet, spec: ChartSpec, row: int) -> int:
    """Reserve the rows; the ranges are looked up once every name is defined."""
    where = f"chart '{spec.title}' of sheet {sheet.name}"
    x, y = (_axis(spec, axis, where) for axis in "xy")
    if spec.new_page:
        sheet.page_breaks.append(row)

    def finish() -> None:
        series = _of_grid(layout, spec) if spec.grid else tuple(_of_names(layout, spec, number, where) for number in range(len(spec.series)))
        if spec.type == "column" and not any("fill" in item.look for item in series):
            raise TemplateError(f"{where}: no series is drawn as columns")
        sheet.charts.append(Chart(row, column_number(spec.column), spec.type, spec.title, spec.description, series, x, y, spec.reverse,
                                  height=spec.rows * 20))

    sheet.later.append(finish)
    return row + spec.rows + 1


def _axis(spec: ChartSpec, axis: str, where: str) -> Axis:
    """The x or y axis of a chart; a scale that cannot be drawn is an error."""
    title, number_format, lowest, maximum, log = (getattr(spec, f"{axis}_{key}") for key in ("title", "format", "min", "max", "log"))
    if axis not in VALUE_AXES[spec.type] and (log, lowest, maximum) != (None, None, None):
        raise TemplateError(f"{where}: its {axis} axis shows categories, which have no {axis}_min, {axis}_max and {axis}_log")
    minimum = None if lowest == "auto" else 0 if lowest is None and not log else lowest
    if log and any(end is not None and end <= 0 for end in (minimum, maximum)):
        raise TemplateError(f"{where}: {axis}_log needs {axis}_min and {axis}_max above 0")
    if minimum is not None and maximum is not None and maximum <= minimum:
        raise TemplateError(f"{where}: {axis}_max {maximum:g} is not above {axis}_min {minimum:g}")
    return Axis(title, number_format, minimum, maximum, log)


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


def _of_names(layout, spec: ChartSpec, number: int, where: str) -> Series:
    """A series that is written out."""
    item = spec.series[number]
    where = f"{where}, series '{item.title}'"
    values = layout.area_of(item.values, where)
    categories = layout.area_of(item.categories, where) if item.categories else None
    if categories is None and spec.type == "scatter":
        raise TemplateError(f"{where}: a scatter chart needs categories, its x values")
    if categories is not None and _cells(categories) != _cells(values):
        raise TemplateError(f"{where}: {_cells(values)} values and {_cells(categories)} categories")
    return Series(item.title, values, categories, _look(layout.templates.theme, spec.type, item, number, where))


def _cells(area: Area) -> int:
    return (area.last_row - area.row + 1) * (area.last_column - area.column + 1)


def _look(theme: Theme, kind: str, item: SeriesSpec, number: int, where: str) -> Mapping:
    """What is written, completed from the theme, with its colours."""
    look = item.look.model_dump(exclude_none=True)
    if undrawn := sorted(UNDRAWN[kind] & look.keys()):
        raise TemplateError(f"{where}: a {kind} chart draws no {', '.join(undrawn)}")
    if kind != "scatter" and not look.keys() & {"line", "marker"}:
        look = _default(theme.chart_bars, number) | look
        fill = _colour(theme, look["colour"], where)
        return {"fill": fill, "pattern": look["pattern"]} if look.get("pattern", "solid") != "solid" else {"fill": fill}
    if ("line" in look) == ("marker" in look):
        look = _default(theme.chart_lines, number) | look
    look = {"colour": "grey" if "line" in look else "fits_ink"} | look
    return look | {key: _colour(theme, look.get(key, look["colour"]), where) for key in ("colour", "inside")}


def _default(looks: list[Look], number: int) -> dict:
    return looks[number % len(looks)].model_dump(exclude_none=True)


def _colour(theme: Theme, colour: int | str, where: str) -> str:
    """A colour of the theme by its place among those of series, or by its name."""
    if isinstance(colour, int):
        if not 0 <= colour < len(theme.chart_series):
            raise TemplateError(f"{where}: no colour {colour} in chart_series of the theme, which has 0 to {len(theme.chart_series) - 1}")
        return theme.chart_series[colour]["fill"]
    if colour not in theme.colours:
        raise TemplateError(f"{where}: no colour '{colour}' in the theme{nearest(colour, theme.colours)}")
    return theme.colours[colour]
