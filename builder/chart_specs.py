"""Charts: how each series is drawn, and what the axes show."""
from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from builder.parts import Part
from builder.schema import Positive, Spec

Pattern = Literal["solid", "wide_upward_diagonal", "wide_downward_diagonal", "dark_horizontal", "dark_vertical", "diagonal_cross", "small_grid"]
Dash = Literal["solid", "round_dot", "square_dot", "dash", "dash_dot", "long_dash", "long_dash_dot", "long_dash_dot_dot"]
Marker = Literal["circle", "square", "diamond", "triangle", "x", "plus", "star"]

LogBase = Annotated[bool | Annotated[int, Field(ge=2, le=1000)], AfterValidator(lambda base: 10 if base is True else base or None)]


class Look(Spec):
    """How a series is drawn: `pattern` is of bars and columns, the others below are of lines and markers.

    The theme gives what is left out by the place of the series (chart_bars, chart_lines), so that series differ in pattern, dashes or
    marker as well as in colour. Only a look with a line and no marker is a plain grey line, and one with a marker and no line is
    markers alone.
    """

    colour: int | str | None = None  # a place in the theme's chart_series, from 0, or the name of a theme colour
    pattern: Pattern | None = None
    line: Dash | None = None
    width: Positive | None = None  # points
    marker: Marker | None = None
    size: Annotated[int, Field(ge=2, le=72)] | None = None  # points
    inside: int | str | None = None  # a colour too; that of the line if missing


class SeriesSpec(Part):
    title: str
    values: str  # name, or first:last
    categories: str | None = None  # likewise; the x values of a scatter chart
    look: Look = Field(default_factory=Look)


class ChartSpec(Part):
    """A chart; series of `column` whose look has a line or a marker are lines over the columns.

    Its ranges should hold numbers throughout. An empty cell draws nothing, but a formula that shows "" shows a text: it is drawn at 0,
    it cannot stand on a logarithmic axis, and one among the x values of a scatter chart makes Excel number all its points from 1.
    #N/A would draw nothing, but no cell may show an error. So a row without a point repeats the point before it.
    """

    kind: Literal["chart"]
    type: Literal["stacked_bar", "bar", "column", "scatter"]
    title: str
    description: str  # alt text
    grid: str | None = None  # every row of this grid is a series ...
    series: list[SeriesSpec] = Field(default_factory=list)  # ... or each is written out
    new_page: bool = False  # in print
    reverse: bool = True  # bars: the first category is the uppermost
    x_title: str = ""
    y_title: str = ""
    x_format: str = "#,##0"  # of numbers
    y_format: str = "#,##0"
    x_min: int | float | Literal["auto"] | None = None  # auto fits the data, which may be negative; 0 if missing, auto on a logarithmic axis
    x_max: int | float | None = None
    y_min: int | float | Literal["auto"] | None = None
    y_max: int | float | None = None
    x_log: LogBase | None = None  # true for 10, or another base such as 2
    y_log: LogBase | None = None
    rows: int = 18
    column: str = "B"
