"""In slices `formulas` computes what it computes for a whole book, finds every cached value that is wrong, and proves the shipped book."""
from __future__ import annotations

from functools import cache

import openpyxl
import pytest
import xlsxwriter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.formula import ArrayFormula

from builder.book import DIST, book_names
from builder.engines import ErrorValue, formulas_engine, slices, workbook_file
from builder.engines.formulas_engine import recomputed
from builder.engines.precedents import Area, Precedents, Reads
from builder.engines.workbook_file import Cell
from builder.errors import VerifyError
from builder.template import load_templates
from builder.verify import cached_values, stale_cells

SHARES = {"finetune": 8, "training": 2, "inference": 1}  # in which the slices of a shipped book are dealt out, for pytest-xdist to spread

# Constants of every kind, some of which look like another kind. Row 4 is blank.
CONSTANTS = [4, 0.5, "8", None, "#N/A", "=1+1", "_", True, ErrorValue("#DIV/0!"), "apple", 1e11, 0.1]
FORMULAS = {
    "Work": {
        "A1": "SUM(numbers)+Other!A4",
        "A2": "ISBLANK('The data'!A4)",
        "A3": "COUNTA('The data'!A1:A12)",
        "A4": 'IF(Work!A2,"",1)',
        "A5": "ISBLANK(A4)",
        "A6": "'The data'!A4",
        "A7": "'The data'!A5",
        "A8": "'The data'!A6",
        "A9": "'The data'!A9",
        "A10": 'IFERROR(A9+1,"caught")',
        "A11": "MATCH(\"apple\",'The data'!A1:A12,0)",
        "B1": "NA()",
        "B2": "ISNUMBER(B1)",
        "B3": 'IFERROR(INDEX(A1:A11,MATCH("caught",A1:A11,0)),0)',
        "B4": 'MATCH("",A1:A11,0)',
        "B5": "LEN(A7)+LEN(A8)",
        "B6": "twice+first_number",
        "B7": "IF('The data'!A8,\"=yes\",\"no\")",
        "B8": 'B7&"!"',
        "B9": "SUM(Work!C1:C3)",
        "B10": "SUM(first_number:last_number)",
        "B11": "B9+nothing_of_this_name",
        "C1": "'The data'!A2/3000000000",  # more digits than fifteen decimals hold
        "C2": "C1*3",
        "C3": "A6+'The data'!A11",
        "C4": 'C3&""',
        "C5": "ROWS(Empty!A1:A5)+COUNT(Empty!A1:A5)",
    },
    "Other": {"A1": "Work!B9", "A2": "A1+UPPER_CASE", "A3": "SUM(Work!C1:C2,A4)", "A4": "Work!C2"},
}
NAMES = {
    "numbers": "'The data'!$A$1:$A$2", "first_number": "'The data'!$A$1", "last_number": "'The data'!$A$2",
    "twice": "2*first_number", "Upper_Case": "Work!$A$1",
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Every kind of constant, and formulas that read one another across sheets, by names and in ranges; nothing is cached."""
    path = tmp_path_factory.mktemp("slices") / "Kinds.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Empty"
    data = book.create_sheet("The data")
    for row, value in enumerate(CONSTANTS, start=1):
        cell = data.cell(row, 1, value)
        if isinstance(value, str):
            cell.data_type = "e" if isinstance(value, ErrorValue) else "s"
    for title, formulas in FORMULAS.items():
        sheet = book.create_sheet(title)
        for place, formula in formulas.items():
            sheet[place] = f"={formula}"
    for name, meaning in NAMES.items():
        book.defined_names[name] = DefinedName(name, attr_text=meaning)
    book.save(path)
    return path


# What slices are and give


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.oracle), 7, 1000])
def test_slices_give_what_the_whole_book_gives(engine_formulas, kinds, size):
    with engine_formulas.open(kinds) as session:
        whole = session.recalculated()
    found = {}
    for piece in slices.cut(kinds, size):
        found |= recomputed(piece, found)
    assert {cell: (type(value), value) for cell, value in found.items()} == {cell: (type(value), value) for cell, value in whole.items()}
    assert found[Cell("Work", 9, 1)] == ErrorValue("#DIV/0!") and found[Cell("Work", 4, 2)] == 4


def test_every_formula_is_in_one_slice_and_reads_no_later_one(kinds):
    pieces = slices.cut(kinds, 4)
    assert [len(piece.formulas) for piece in pieces] == [4] * 7 + [3]
    done = set()
    for piece in pieces:
        assert piece.reads <= done and not piece.formulas.keys() & done
        done |= piece.formulas.keys()
    assert done == workbook_file.read(kinds).formulas


def test_a_slice_holds_only_what_it_needs(kinds):
    piece = next(piece for piece in slices.cut(kinds, 1) if Cell("Work", 6, 2) in piece.formulas)  # twice+first_number
    assert piece.reads == set() and piece.constants == {Cell("The data", 1, 1): 4}
    assert piece.names == {"TWICE": "2*first_number", "FIRST_NUMBER": "'The data'!$A$1"}


@pytest.mark.parametrize("formula, areas, names", [
    ("A1+$B$2*C3", [(1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)], []),
    ("SUM(A1:B9,A1:B9)", [(1, 1, 9, 2)], []),
    ("SUM(B:C,2:3)", [(1, 2, 20, 3), (2, 1, 3, 9)], []),
    ("SUM(B9:A1,A1:B99)", [(1, 1, 9, 2), (1, 1, 20, 2)], []),
    ("SUM(one:other)", [(2, 1, 7, 4)], ["ONE", "OTHER"]),
    ("SUM(S!A1:S!B2)", [(1, 1, 2, 2)], []),
    ('IF(Double,"A1",TRUE)', [(2, 4, 2, 4)], ["DOUBLE", "ONE"]),
    ("a_b_c+1", [], []),
])
def test_what_a_formula_reads(formula, areas, names):
    precedents = Precedents({"S": (20, 9)}, {"one": "S!$D$2", "other": "s!$A$7", "double": "2*ONE"})
    assert precedents.of(f"={formula}", "S") == Reads(tuple(Area("S", *area) for area in areas), tuple(names))


@pytest.mark.parametrize("formula", [
    'INDIRECT("A1")', "SUM(OFFSET(A1,1,1))", "SUM(INDEX(A1:A9,1):INDEX(A1:A9,2))", "SUM(A1:INDEX(A1:A9,2))", "SUM(INDEX(A1:A9,2):A9)",
    "Gone!A1", "[1]S!A1", "SUM(S:T!A1)", "table[column]", 'IF("',
])
def test_a_formula_that_does_not_tell_what_it_reads_is_refused(formula):
    with pytest.raises(VerifyError, match="cannot"):
        Precedents({"S": (20, 9)}, {}).of(f"={formula}", "S")


def saved(path, formulas):
    book = openpyxl.Workbook()
    for place, formula in formulas.items():
        book.active[place] = formula
    book.save(path)
    return path


def test_cells_that_depend_on_themselves_are_refused(tmp_path):
    with pytest.raises(VerifyError, match=r"Sheet!A[123] depends on itself"):
        slices.cut(saved(tmp_path / "circle.xlsx", {"A1": "=A2", "A2": "=SUM(A3:A4)", "A3": "=A1"}))


def test_an_array_formula_is_refused(tmp_path):
    with pytest.raises(VerifyError, match="Sheet!A1 is an array formula"):
        slices.cut(saved(tmp_path / "array.xlsx", {"A1": ArrayFormula("A1:A2", "=B1:B2*2")}))


# Cached values


CHAIN = [  # name, formula, value
    ("first", "=1+1", 2), ("second", "=first*2", 4), ("wanting", "=NA()", "#N/A"), ("caught", '=IFERROR(wanting,"")', ""),
    ("text", '=caught&"x"', "x"), ("sum", "=SUM(Chain!A1:A2)", 6),
]
WRONG = {"first": 3, "second": "#N/A", "wanting": 4, "caught": 0, "text": "y", "sum": 6.00001}


@pytest.fixture
def write(tmp_path):
    """Writes a book in which each formula reads another, with right cached values, apart from `wrong`."""

    def write(**wrong):
        path = tmp_path / "Chain.xlsx"
        workbook = xlsxwriter.Workbook(path)
        sheet = workbook.add_worksheet("Chain")
        for row, (name, formula, value) in enumerate(CHAIN):
            sheet.write_formula(row, 0, formula, None, wrong.get(name, value))
            workbook.define_name(name, f"=Chain!$A${row + 1}")
        workbook.close()
        return path

    return write


def wrong_cells(path, size):
    """Cells whose cached value is not what `formulas` makes of the other cached values, slice by slice."""
    cached = cached_values(workbook_file.read(path))
    return [found.cell for piece in slices.cut(path, size) for found in stale_cells(cached, recomputed(piece, cached))]


@pytest.mark.parametrize("size", [1, 2, 6])
def test_right_cached_values_are_accepted(engine_formulas, write, size):
    assert wrong_cells(write(), size) == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if number < 2 else pytest.mark.oracle) for number, name in enumerate(WRONG)])
def test_a_wrong_cached_value_is_found(engine_formulas, write, name):
    path = write(**{name: WRONG[name]})
    own = f"A{1 + [row[0] for row in CHAIN].index(name)}"
    assert wrong_cells(path, 6) == [own]  # in one slice all are recomputed from formulas
    assert own in wrong_cells(path, 1)


def test_cached_values_that_are_wrong_together_are_found(engine_formulas, write):
    assert wrong_cells(write(first=3, second=6, sum=9), 1) == ["A1"]


@pytest.mark.parametrize("name", WRONG)
def test_a_large_book_is_recalculated_in_slices_whatever_is_cached(engine_formulas, write, monkeypatch, name):
    monkeypatch.setattr(formulas_engine, "SLICED_BEYOND", 0)
    monkeypatch.setattr(slices, "SIZE", 2)
    with engine_formulas.open(write(**{name: WRONG[name]})) as session:
        stale = stale_cells(cached_values(session.file), session.recalculated())
        assert [found.cell for found in stale] == [session.file.names[name].a1]
        assert session.evaluate({}, ["second", "wanting", "caught", "sum"]) == {"second": 4, "wanting": ErrorValue("#N/A"), "caught": "", "sum": 6}
        assert "_model" not in vars(session)  # the whole book never was in memory


def test_what_is_typed_into_a_large_book_is_recalculated(engine_formulas, kinds, monkeypatch):
    monkeypatch.setattr(formulas_engine, "SLICED_BEYOND", 0)
    with engine_formulas.open(kinds) as session:
        assert session.evaluate({"first_number": 7}, ["Upper_Case"])["Upper_Case"] == pytest.approx(7.5)
        assert session.evaluate({}, ["Upper_Case"])["Upper_Case"] == pytest.approx(4.5)


# The shipped books


@cache
def shipped(name):
    """A shipped book's slices and cached values."""
    path = DIST / load_templates(name).book.file
    file = workbook_file.read(path)
    pieces = slices.cut(path, slices.SIZE)
    assert {cell for piece in pieces for cell in piece.formulas} == file.formulas
    return pieces, cached_values(file)


@pytest.mark.oracle
@pytest.mark.parametrize("name, share, shares", [(name, share, shares) for name, shares in SHARES.items() for share in range(shares)])
def test_formulas_recomputes_every_cell_of_a_shipped_book(engine_formulas, name, share, shares):
    pieces, cached = shipped(name)
    stale = [found for piece in pieces[share::shares] for found in stale_cells(cached, recomputed(piece, cached))]
    assert not stale, stale[:9]


def test_every_shipped_book_is_recomputed():
    assert set(SHARES) == set(book_names())
