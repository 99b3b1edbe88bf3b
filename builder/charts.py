"""Charts of a book, drawn with XlsxWriter so that print and every eye can read them."""
from __future__ import annotations

from collections.abc import Mapping

from builder.formula import Formula
from builder.grid import Area, Axis, Chart, Series, Sheet
from builder.layout import Layout

TYPES = {
    "stacked_bar": {"type": "bar", "subtype": "stacked"},
    "bar": {"type": "bar"},
    "column": {"type": "column"},
    "scatter": {"type": "scatter", "subtype": "straight"},
}
Values = Mapping[tuple[str, int, int], object]


def draw(book, layout: Layout, values: Values, spec: Chart):
    """The chart as XlsxWriter's object, for `insert_chart`; `book` is XlsxWriter's workbook, `values` are the cached ones."""
    colours = layout.templates.theme.colours
    chart, lines = book.add_chart(TYPES[spec.kind]), None
    empty = None if spec.kind == "scatter" else ""  # no point, or a bar of length 0
    for series in spec.series:
        options = _series(series, colours)
        options["values_data"], options["categories_data"] = (_cached(layout, values, area, empty) for area in (series.values, series.categories))
        if spec.kind == "column" and "fill" not in series.look:
            lines = lines or book.add_chart({"type": "line"})
            lines.add_series(options)
        else:
            chart.add_series(options)
    if lines is not None:
        chart.combine(lines)
    chart.set_title({"name": spec.title, "name_font": {"size": 13, "color": colours["ink"]}, "overlay": False})
    x, y = _axes(spec, colours["rule"])
    chart.set_x_axis(x)
    chart.set_y_axis(y)
    # One series is named by the title; a legend would only take its place.
    chart.set_legend({"none": True} if len(spec.series) == 1 else {"position": "right" if spec.kind == "stacked_bar" else "bottom", "font": {"size": 10}})
    chart.set_size({"width": spec.width, "height": spec.height})
    return chart


def _axes(spec: Chart, rule: str) -> tuple[dict, dict]:
    """Options of the horizontal and of the vertical axis; XlsxWriter calls the horizontal axis of a bar chart x, the one with the values."""
    match spec.kind:
        case "scatter":
            return _value_axis(spec.x, rule), _value_axis(spec.y, rule)
        case "column":
            return _category_axis(spec.x, 10), _value_axis(spec.y, rule)
        case "bar":
            downwards = {"reverse": True, "crossing": "max"} if spec.reverse else {}
            return _value_axis(spec.x, rule) | {"num_font": {"size": 10}}, _category_axis(spec.y, 10) | downwards
        case _:
            x = _value_axis(spec.x, rule) | {"num_font": {"size": 10}}
            return x, {"reverse": True, "crossing": "max", "major_gridlines": {"visible": False}, "num_font": {"size": 11}}


def _value_axis(axis: Axis, rule: str) -> dict:
    """A logarithmic axis has finer lines between the powers of ten, and is crossed where it begins, not at 1."""
    options = {"name": axis.title, "num_format": axis.number_format, "major_gridlines": {"visible": True, "line": {"color": rule, "width": 0.75}}}
    if axis.log:
        options |= {"log_base": axis.log, "major_unit": axis.log, "crossing": "min"}
        options["minor_gridlines"] = {"visible": axis.log == 10, "line": {"color": rule, "width": 0.25}}
    return options | {key: end for key, end in (("min", axis.minimum), ("max", axis.maximum)) if end is not None}


def _category_axis(axis: Axis, size: int) -> dict:
    """Every category has its label, at the edge of the chart even where values are negative."""
    return {"name": axis.title, "major_gridlines": {"visible": False}, "num_font": {"size": size}, "interval_unit": 1, "label_position": "low"}


def _series(series: Series, colours: Mapping[str, str]) -> dict:
    title, look = series.title, series.look
    options = {"name": title if isinstance(title, str) else "=" + title.a1(), "values": "=" + series.values.a1()}
    if series.categories:
        options["categories"] = "=" + series.categories.a1()
    if "fill" in look:
        options["gap"], options["border"] = 60, {"color": colours["ink"], "width": 0.5}
        if "pattern" in look:
            options["pattern"] = {"pattern": look["pattern"], "fg_color": colours["white"], "bg_color": look["fill"]}
        else:
            options["fill"] = {"color": look["fill"]}
        return options
    colour, inside = {"color": look["colour"]}, {"color": look["inside"]}
    options["line"] = colour | {"width": look.get("width", 1.25), "dash_type": look["line"]} if "line" in look else {"none": True}
    options["marker"] = {"type": look["marker"], "size": look.get("size", 7), "border": colour, "fill": inside} if "marker" in look else {"type": "none"}
    return options


def _cached(layout: Layout, values: Values, area: Area | None, empty: str | None) -> list:
    """Cached values of a chart's range, so that previews draw it; `empty` stands for an empty cell."""
    if area is None:
        return []
    sheet = next(sheet for sheet in layout.sheets if sheet.name == area.sheet)
    cells = [(row, column) for row in range(area.row, area.last_row + 1) for column in range(area.column, area.last_column + 1)]
    return [_shown(sheet, values, at, empty) for at in cells]


def _shown(sheet: Sheet, values: Values, at: tuple[int, int], empty: str | None):
    cell = sheet.cells.get(at)
    if cell is None or cell.content is None:
        return empty
    return values.get((sheet.name, *at), "") if isinstance(cell.content, Formula) else cell.content
