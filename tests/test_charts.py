"""Chart types and looks: what a template may write, what XlsxWriter is told, and what is refused."""
from __future__ import annotations

import re
import zipfile

import pytest
import xlsxwriter
from pydantic import ValidationError

from builder.blocks.chart import place
from builder.charts import draw
from builder.errors import TemplateError
from builder.grid import Sheet
from builder.layout import Layout
from builder.chart_specs import ChartSpec
from builder.template import load_templates
from tests.test_craft import contrast

TEMPLATES = load_templates("finetune")
THEME = TEMPLATES.theme
SERIES = {"title": "Need", "values": "need_gb", "categories": "step_name"}


def laid_out(type_="bar", series=(SERIES,), **keys):
    """A layout of one sheet with a small table and one chart."""
    sheet = Sheet("Demo", {0: 20, 1: 12, 2: 12})
    layout = Layout(None, TEMPLATES, sheets=[sheet])
    columns = {"step_name": ("a", "b", "c"), "need_gb": (1, 20, 300), "cap_gb": (80, 80, 80), "with_gap": (1, None, 3), "shorter": (1, 2)}
    for column, (name, content) in enumerate(columns.items()):
        for row, value in enumerate(content):
            sheet.put(row, column, value, "value")
        layout.define(name, sheet.area(0, column, len(content) - 1), "text")
    spec = ChartSpec.model_validate({"kind": "chart", "type": type_, "title": "Title", "description": "Alt text", "series": list(series), **keys})
    place(layout, sheet, spec, 10)
    for finish in sheet.later:
        finish()
    return layout, sheet.charts[0]


def xml(tmp_path, *args, **keys):
    """The chart's part of a file."""
    layout, chart = laid_out(*args, **keys)
    book = xlsxwriter.Workbook(tmp_path / "chart.xlsx")
    sheet = book.add_worksheet("Demo")
    sheet.insert_chart(0, 0, draw(book, layout, {}, chart))
    book.close()
    with zipfile.ZipFile(tmp_path / "chart.xlsx") as archive:
        assert [name for name in archive.namelist() if name.startswith("xl/charts/")] == ["xl/charts/chart1.xml"]
        return archive.read("xl/charts/chart1.xml").decode("utf-8")


def test_one_series_of_bars_stands_from_the_top_down_without_a_legend(tmp_path):
    text = xml(tmp_path, x_title="GB", x_format="0.0", x_max=400)
    assert '<c:barDir val="bar"/><c:grouping val="clustered"/>' in text and "<c:legend>" not in text
    assert '<c:orientation val="maxMin"/>' in text and '<c:tickLblSkip val="1"/>' in text and 'formatCode="0.0"' in text
    assert '<c:max val="400"/>' in text and '<c:min val="0"/>' in text
    assert text.count("<c:v>300</c:v>") == 1 and "<c:v>b</c:v>" in text


def test_bars_may_stand_from_the_bottom_up_and_reach_below_0(tmp_path):
    text = xml(tmp_path, reverse=False, x_min="auto")
    assert "maxMin" not in text and "<c:min" not in text and '<c:tickLblPos val="low"/>' in text


def test_two_series_of_bars_differ_in_pattern_and_have_a_legend(tmp_path):
    text = xml(tmp_path, series=(SERIES, SERIES | {"title": "Capacity", "values": "cap_gb"}))
    assert text.count("<a:pattFill ") == 1 and '<c:legendPos val="b"/>' in text


def test_a_series_with_a_line_stands_over_the_columns(tmp_path):
    capacity = SERIES | {"title": "Capacity", "values": "cap_gb", "look": {"line": "dash", "marker": "diamond", "colour": "ink"}}
    text = xml(tmp_path, "column", (SERIES, capacity))
    columns, lines = re.search("<c:barChart>.*</c:barChart>", text)[0], re.search("<c:lineChart>.*</c:lineChart>", text)[0]
    assert '<c:barDir val="col"/>' in columns and columns.count("<c:ser>") == lines.count("<c:ser>") == 1
    assert '<c:symbol val="diamond"/>' in lines and '<a:prstDash val="dash"/>' in lines and THEME.colours["ink"][1:] in lines
    assert re.findall(r'<c:idx val="(\d)"/>', text) == ["0", "1"] and "<c:v>80</c:v>" in lines


def test_series_of_a_scatter_chart_differ_in_colour_dash_and_marker(tmp_path):
    text = xml(tmp_path, "scatter", [SERIES | {"title": str(number), "categories": "cap_gb"} for number in range(6)])
    found = [re.findall(pattern, text) for pattern in (r'<c:symbol val="(\w+)"/>', r'<c:spPr><a:ln w="25400"><a:solidFill><a:srgbClr val="(\w+)"/>')]
    dashes = [re.search(r'prstDash val="(\w+)"', part) for part in text.split("<c:ser>")[1:]]
    assert [len(set(each)) for each in found] == [6, 6] and len({dash[1] if dash else "" for dash in dashes}) == 6


def test_a_look_is_completed_from_the_theme_unless_it_is_a_line_or_markers_alone():
    def look(**look):
        return laid_out("scatter", [SERIES | {"categories": "cap_gb", "look": look}])[1].series[0].look

    first = THEME.chart_series[0]["fill"]
    assert look() == {"colour": first, "line": "solid", "width": 2, "marker": "circle", "size": 7, "inside": first}
    assert look(colour=7, inside="white") == look() | {"colour": THEME.chart_series[7]["fill"], "inside": "#FFFFFF"}
    assert look(line="dash", marker="x") == look() | {"line": "dash", "marker": "x"}
    assert look(line="dash") == {"colour": THEME.colours["grey"], "line": "dash", "inside": THEME.colours["grey"]}
    assert look(marker="x")["colour"] == THEME.colours["fits_ink"] and "line" not in look(marker="x")


@pytest.mark.parametrize("base, written", [(True, 10), (2, 2)])
def test_a_logarithmic_axis_is_crossed_where_it_begins(tmp_path, base, written):
    text = xml(tmp_path, "scatter", [SERIES | {"categories": "cap_gb"}], x_log=base, y_log=base, x_min=1, x_max=1024)
    assert text.count(f'<c:logBase val="{written}"/>') == 2 and text.count('<c:crosses val="min"/>') == 2
    assert '<c:min val="0"/>' not in text and '<c:min val="1"/>' in text and '<c:max val="1024"/>' in text
    assert text.count("<c:minorGridlines>") == (2 if written == 10 else 0)


def test_an_empty_cell_is_no_point_of_a_scatter_chart(tmp_path):
    text = xml(tmp_path, "scatter", [SERIES | {"values": "with_gap", "categories": "cap_gb"}])
    values = re.search("<c:yVal>.*</c:yVal>", text)[0]
    assert re.findall(r'idx="(\d)"', values) == ["0", "2"] and 'val="zero"' not in text


@pytest.mark.parametrize("keys, said", [
    ({"series": [SERIES | {"values": "need"}]}, "no name 'need'"),
    ({"series": [SERIES | {"values": "shorter"}]}, "2 values and 3 categories"),
    ({"type_": "scatter", "series": [{"title": "Need", "values": "need_gb"}]}, "needs categories"),
    ({"series": [SERIES | {"look": {"colour": 11}}]}, "no colour 11"),
    ({"series": [SERIES | {"look": {"colour": "inc"}}]}, "no colour 'inc' in the theme; did you mean 'ink'?"),
    ({"series": [SERIES | {"look": {"line": "dash"}}]}, "a bar chart draws no line"),
    ({"type_": "scatter", "series": [SERIES | {"look": {"pattern": "small_grid"}}]}, "a scatter chart draws no pattern"),
    ({"type_": "column", "series": [SERIES | {"look": {"line": "dash"}}]}, "no series is drawn as columns"),
    ({"y_log": True}, "its y axis shows categories"),
    ({"type_": "column", "x_max": 5}, "its x axis shows categories"),
    ({"x_log": True, "x_min": 0}, "x_log needs x_min and x_max above 0"),
    ({"x_min": 5, "x_max": 5}, "x_max 5 is not above x_min 5"),
], ids=str)
def test_what_cannot_be_drawn_is_refused(keys, said):
    with pytest.raises(TemplateError, match=re.escape(said)) as error:
        laid_out(**keys)
    assert "chart 'Title' of sheet Demo" in str(error.value)


@pytest.mark.parametrize("keys", [{"x_log": 1}, {"x_min": "low"}, {"series": [SERIES | {"look": {"line": "dashed"}}]}, {"series": [SERIES | {"look": {"color": 1}}]}])
def test_unknown_keys_and_values_are_refused(keys):
    with pytest.raises(ValidationError):
        laid_out(**keys)


def test_lines_have_a_contrast_of_at_least_3():
    for number in range(len(THEME.chart_lines)):
        chart = laid_out("scatter", [SERIES | {"categories": "cap_gb"}] * (number + 1))[1]
        assert contrast(chart.series[number].look["colour"], "#FFFFFF") >= 3, number
