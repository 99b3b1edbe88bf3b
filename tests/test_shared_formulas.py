"""Shared formulas: adjacent cells of one formula write its text once, and every reader of the file finds each cell's own."""
from __future__ import annotations

import re
import zipfile

import openpyxl
import pytest
import xlsxwriter
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter, range_boundaries

from builder.book import checked_layout
from builder.evaluate import evaluate
from builder.formula import Formula, read
from builder.grid import Across, Cell, Down
from builder.render import render
from builder.shared import SharingWorksheet, find_runs
from builder.verify import verify

BOOK = "finetune"


@pytest.fixture(scope="module")
def layout():
    return checked_layout(BOOK)


@pytest.fixture(scope="module")
def values(layout):
    return evaluate(layout)


@pytest.fixture(scope="module")
def path(layout, values, tmp_path_factory):
    file = tmp_path_factory.mktemp("shared") / "book.xlsx"
    render(layout, values, file)
    return file


def a1(row, column):
    return f"{get_column_letter(column + 1)}{row + 1}"


def formulas(layout):
    """(sheet, place, text) of every formula cell."""
    return [(sheet.name, at, "=" + layout.place(cell, *at)) for sheet in layout.sheets for at, cell in sheet.cells.items() if isinstance(cell.content, Formula)]


# The book


def test_a_reader_finds_the_text_of_every_cell(layout, path):
    book = openpyxl.load_workbook(path)
    expected = formulas(layout)
    found = [(name, at, book[name][a1(*at)].value) for name, at, _ in expected]
    assert len(expected) > 30_000 and [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]] == []


def test_each_cell_of_a_run_holds_the_first_formula_translated(layout):
    for sheet in layout.sheets:
        for run in find_runs(sheet.cells):
            first = Translator("=" + layout.place(sheet.cells[run[0]], *run[0]), origin=a1(*run[0]))
            for at in run[1:]:
                assert first.translate_formula(a1(*at)) == "=" + layout.place(sheet.cells[at], *at), (sheet.name, a1(*at))


def test_no_formula_that_is_shared_reads_another_sheet(layout):
    """Excel shares none: in one, such a reference would not move with the cell."""
    for sheet in layout.sheets:
        for run in find_runs(sheet.cells):
            assert "!" not in re.sub('"[^"]*"', "", layout.place(sheet.cells[run[0]], *run[0])), (sheet.name, run[0])


def test_recalculated_the_cached_values_stand(path, engine_formualizer):
    result = verify(path, engine_formualizer)
    assert result.stale == () and result.agrees


def test_numbers_and_areas_are_those_of_the_runs(layout, path):
    for number, sheet in enumerate(layout.sheets, 1):
        runs = find_runs(sheet.cells)
        with zipfile.ZipFile(path) as archive:
            xml = archive.read(f"xl/worksheets/sheet{number}.xml").decode("utf-8")
        areas = {int(si): range_boundaries(ref) for ref, si in re.findall(r'<f t="shared" ref="([^"]*)" si="(\d+)">', xml)}
        assert areas == {si: (run[0][1] + 1, run[0][0] + 1, run[-1][1] + 1, run[-1][0] + 1) for si, run in enumerate(runs)}
        others = [int(si) for si in re.findall(r'<f t="shared" si="(\d+)"/>', xml)]
        assert [others.count(si) for si in range(len(runs))] == [len(run) - 1 for run in runs]
        assert xml.count("<f>") == sum(isinstance(cell.content, Formula) for cell in sheet.cells.values()) - sum(map(len, runs))


def test_most_formulas_are_shared(layout):
    shared = sum(len(run) for sheet in layout.sheets for run in find_runs(sheet.cells))
    assert shared > 0.9 * len(formulas(layout))


def test_the_same_layout_gives_the_same_bytes(layout, values, path, tmp_path):
    render(layout, values, tmp_path / "again.xlsx")
    assert (tmp_path / "again.xlsx").read_bytes() == path.read_bytes()


# Runs


ROWS, COLUMNS = Across({"lora_rank": 0, "layer_count": 1}), Down({"lora_rank": 0, "layer_count": 1})
ONE, OTHER = "lora_rank * 2", "lora_rank + 1"


def laid(*places, formula=ONE, scope=ROWS):
    return {at: Cell(read(formula), "value", scope=scope) for at in places}


def row(number, first, last):
    return [(number, column) for column in range(first, last + 1)]


def column(number, first, last):
    return [(each, number) for each in range(first, last + 1)]


def test_runs_go_along_a_row_or_down_a_column():
    cells = laid(*row(5, 2, 6)) | laid(*column(9, 5, 8), scope=COLUMNS)
    assert find_runs(cells) == [tuple(row(5, 2, 6)), tuple(column(9, 5, 8))]


def test_a_gap_or_another_formula_ends_a_run():
    cells = laid(*row(5, 2, 4), *row(5, 6, 8)) | laid(*row(6, 2, 4)) | laid(*row(6, 5, 7), formula=OTHER)
    assert find_runs(cells) == [tuple(row(5, 2, 4)), tuple(row(5, 6, 8)), tuple(row(6, 2, 4)), tuple(row(6, 5, 7))]


@pytest.mark.parametrize("cells", [
    laid(*row(5, 2, 3)),
    laid(*column(2, 5, 6), scope=COLUMNS),
    laid(*row(5, 2, 6), scope=None),
    laid((5, 2), (5, 3)) | laid((5, 4), (5, 5), scope=Across(ROWS.rows)),
    {at: Cell(2, "value", scope=ROWS) for at in row(5, 2, 6)},
], ids=["two in a row", "two in a column", "no scope", "two scopes", "constants"])
def test_others_are_no_runs(cells):
    assert find_runs(cells) == []


def test_no_cell_is_in_two_runs():
    cells = laid(*row(5, 2, 6), *column(4, 3, 9))  # a cross: the column above the row is too short, the one below is not
    assert find_runs(cells) == [tuple(row(5, 2, 6)), tuple(column(4, 6, 9))]


@pytest.mark.parametrize("formula, count", [("SUM(lora_rank:layer_count)", 1), ("SUM(first_name:last_name)", 0), ("SUM(lora_rank:last_name)", 0)])
def test_a_range_between_names_of_the_book_is_not_shared(formula, count):
    """Excel does not share them; between two names of the scope it is one area, G$1:G$2."""
    assert len(find_runs(laid(*row(5, 2, 6), formula=formula))) == count


# Worksheet


def test_text_and_values_are_escaped_and_formulas_outside_of_runs_stay(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "book.xlsx")
    sheet = book.add_worksheet("Sheet", SharingWorksheet)
    sheet.share([row(0, 1, 3)])
    text = '=IF(A$2<>"a & b",B$2,"<")'
    for place, value in zip(row(0, 1, 3), (1.5, "<&>", True), strict=True):
        sheet.write_formula(*place, text if place == (0, 1) else "=0", None, value)
    sheet.write_formula(0, 4, "=A1<1", None, False)
    book.close()
    found = openpyxl.load_workbook(tmp_path / "book.xlsx")["Sheet"]
    assert [found[cell].value for cell in ("B1", "C1", "D1", "E1")] == [text, '=IF(B$2<>"a & b",C$2,"<")', '=IF(C$2<>"a & b",D$2,"<")', "=A1<1"]
    cached = openpyxl.load_workbook(tmp_path / "book.xlsx", data_only=True)["Sheet"]
    assert [cached[cell].value for cell in ("B1", "C1", "D1", "E1")] == [1.5, "<&>", True, False]
