"""Every engine computes every function of the safe subset as Excel documents it, takes what a user types, and gives it back.

Expected values: Microsoft's reference page of each function (support.microsoft.com, "Excel functions (alphabetical)").
"""
from __future__ import annotations

import os
import signal
import time

import pytest
import xlsxwriter

from builder.engines import ENGINES, ErrorValue, by_name, libreoffice, slices
from builder.engines.formulas_engine import recomputed
from builder.errors import EngineMissing, UsageError, VerifyError
from builder.formula import SAFE_FUNCTIONS, Call, read, walk

NA, DIV0, VALUE, NAME = map(ErrorValue, ("#N/A", "#DIV/0!", "#VALUE!", "#NAME?"))
NUM, REF = map(ErrorValue, ("#NUM!", "#REF!"))

# Data sheet: A numbers, B texts, C weights, D a mixture of kinds, each six rows long and named column_a ... column_d.
DATA = [
    (4, "apple", 1, 1),
    (8, "Banana", 2, "text"),
    (15, "cherry", 3, None),
    (16, "apple", 4, "more"),
    (23, "a*b", 5, 2.5),
    (42, "date", 6, "last"),
]

# Constants are written as they would be in a workbook; blank_cell is empty and empty_text holds ="".
CASES: list[tuple[str, object]] = [
    # operators
    ("1+2*3-4/8", 6.5), ("2^10", 1024), ("50%", 0.5), ("-3+1", -2), ('"a"&1', "a1"), ('1.5&""', "1.5"), ('100000000000&""', "100000000000"),
    ("2=2", True), ("2<>2", False), ("2>=2", True), ("2<1", False), ('"a"="A"', True), ('"a"<"b"', True), ('"a">1', True), ('"8"=8', False),
    ("1/0", DIV0), ('"text"+1', VALUE), ("NA()+1", NA), ("1/3", 1 / 3), ("1E+9+1", 1000000001), ("(2+3)*2", 10), ("7>5=TRUE", True),
    ("(3>2)*4", 4), ("(3<2)*4", 0), ("TRUE", True),
    # blanks: 0 as a number, "" as a text
    ("blank_cell+1", 1), ('blank_cell=""', True), ("blank_cell=0", True), ('blank_cell&"x"', "x"), ("blank_cell", 0), ("ISBLANK(blank_cell)", True),
    ("ISBLANK(empty_text)", False), ('empty_text=""', True), ("LEN(empty_text)", 0), ("ISTEXT(empty_text)", True), ("ISNUMBER(blank_cell)", False),
    # arithmetic
    ("SUM(column_a)", 108), ("SUM(column_d)", 3.5), ("SUM(1,2,column_c)", 24), ("MIN(column_a)", 4), ("MAX(column_a)", 42), ("MAX(column_d)", 2.5),
    ("MIN(3,blank_cell)", 3), ("MAX(column_b)", 0), ("SUM(1,NA())", NA), ("MAX(2,7,5)", 7), ("MIN(2,-7,5)", -7), ("ABS(-2.5)", 2.5),
    ("ROUND(2.5,0)", 3), ("ROUND(-2.5,0)", -3), ("ROUND(2.149,1)", 2.1), ("ROUND(1234,-2)", 1200),
    ("ROUNDUP(2.1,0)", 3), ("ROUNDUP(-2.1,0)", -3), ("ROUNDUP(31415,-2)", 31500),
    ("ROUNDDOWN(2.9,0)", 2), ("ROUNDDOWN(-2.9,0)", -2), ("ROUNDDOWN(3.14159,3)", 3.141),
    ("CEILING(7.2,1)", 8), ("CEILING(513,512)", 1024), ("CEILING(2.5,0.5)", 2.5), ("FLOOR(7.9,1)", 7), ("FLOOR(1023,512)", 512),
    ("INT(8.9)", 8), ("INT(-8.9)", -9), ("MOD(7,3)", 1), ("MOD(-3,2)", 1), ("MOD(3,-2)", -1), ("MOD(5.5,2)", 1.5), ("MOD(1,0)", DIV0),
    ("SQRT(16)", 4), ("POWER(2,3)", 8), ("POWER(4,0.5)", 2),
    # logic
    ("IF(2>1,10,20)", 10), ("IF(2<1,10,20)", 20), ("IF(2<1,10)", False), ("IF(NA(),1,2)", NA), ("IF(1,NA(),2)", NA), ("IF(0,NA(),2)", 2),
    ("IF(blank_cell,1,2)", 2), ("AND(TRUE,1>0)", True), ("AND(TRUE,FALSE)", False), ("OR(FALSE,1>0)", True), ("OR(FALSE,FALSE)", False), ("NOT(FALSE)", True),
    ("AND(TRUE,NA())", NA), ("IFERROR(1/0,7)", 7), ("IFERROR(5,7)", 5), ('IFERROR(MATCH("none",column_b,0),0)', 0), ("NA()", NA),
    ("ISNUMBER(4)", True), ('ISNUMBER("a")', False), ("ISNUMBER(NA())", False), ('ISTEXT("a")', True), ("ISTEXT(4)", False), ("ISTEXT(blank_cell)", False),
    ("ISBLANK(0)", False), ('EXACT("apple","apple")', True), ('EXACT("apple","Apple")', False), ('EXACT("a ","a")', False), ("EXACT(8,8)", True),
    # lookup
    ("INDEX(column_a,3)", 15), ("INDEX(column_b,2)", "Banana"), ("INDEX(column_d,3)", 0), ("INDEX(column_a,NA())", NA),
    ('MATCH("cherry",column_b,0)', 3), ('MATCH("apple",column_b,0)', 1), ('MATCH("BANANA",column_b,0)', 2), ('MATCH("none",column_b,0)', NA),
    ('MATCH("*",column_b,0)', 1), ('MATCH("d?te",column_b,0)', 6), ('MATCH("a~*b",column_b,0)', 5), ('MATCH("ch*",column_b,0)', 3),
    ('MATCH("appl",column_b,0)', NA), ('MATCH(" ",column_b,0)', NA), ('MATCH("",column_b,0)', NA), ("MATCH(8,column_b,0)", NA), ("MATCH(8,column_a,0)", 2),
    ("MATCH(2.5,column_d,0)", 5), ('INDEX(column_a,MATCH("date",column_b,0))', 42),
    ("CHOOSE(2,10,20,30)", 20), ('CHOOSE(3,"a","b","c")', "c"), ("ROWS(column_a)", 6),
    # counting
    ("COUNT(column_a)", 6), ("COUNT(column_d)", 2), ("COUNTA(column_d)", 5), ("COUNTA(blank_cell)", 0), ("COUNTA(empty_text)", 1), ("COUNT(empty_text)", 0),
    ('COUNTIF(column_b,"apple")', 2), ('COUNTIF(column_a,">15")', 3), ("COUNTIF(column_a,8)", 1), ('COUNTIF(column_b,"a*")', 3),
    ('COUNTIF(column_a,"<>8")', 5), ('SUMIF(column_b,"apple",column_c)', 5), ('SUMIF(column_a,">15",column_c)', 15), ('SUMIF(column_a,">15")', 81),
    ('SUMIFS(column_c,column_b,"apple",column_a,">10")', 4), ('COUNTIFS(column_b,"apple",column_a,">10")', 1),
    ("SUMPRODUCT(column_a*column_c)", 496), ("SUMPRODUCT((column_a>15)*column_c)", 15), ('SUMPRODUCT((column_b="apple")*column_c)', 5),
    # text
    ('TEXT(5,"0")', "5"), ('TEXT(1234567,"#,##0")', "1,234,567"), ('TEXT(1234.56,"#,##0.0")', "1,234.6"), ('TEXT(0.1,"0.0")', "0.1"), ('TEXT(1234.56,"0.0")', "1234.6"), ('TEXT(0.256,"0.0%")', "25.6%"), ('TEXT(0,"0")', "0"),
    ('TEXT(-1234,"#,##0")', "-1,234"), ('LEFT("memory",3)', "mem"), ('LEFT("memory")', "m"), ('RIGHT("memory",2)', "ry"), ('MID("memory",2,3)', "emo"),
    ('MID("memory",5,9)', "ry"), ('LEN("GPU memory")', 10), ('FIND("m","memory",2)', 3), ('FIND("M","memory")', VALUE),
    ('SUBSTITUTE("a_b_c","_"," ")', "a b c"), ('SUBSTITUTE("a_b_c","_",".",2)', "a_b.c"), ('REPT("ab",3)', "ababab"), ('REPT("x",0)', ""),
    # errors in arguments, the way inputs are checked
    ('IFERROR(AND(ISNUMBER("text"),"text">=1),FALSE)', False), ("IFERROR(INT(NA())=1,FALSE)", False),
    ('IFERROR(EXACT(INDEX(column_b,MATCH("APPLE",column_b,0)),"APPLE"),FALSE)', False),
    ('IFERROR(EXACT(INDEX(column_b,MATCH("*",column_b,0)),"*"),FALSE)', False),
    ('IFERROR(EXACT(INDEX(column_b,MATCH("a*b",column_b,0)),"a*b"),FALSE)', True),
]
# Where an engine departs from Excel. No formula of the books may depend on these; a version that mends one fails here.
DEPARTURES: dict[str, tuple[object, dict[str, object]]] = {
    "SQRT(-1)": (NUM, {"libreoffice": VALUE}),  # LibreOffice: an error of its own, exported as #VALUE!
    "INDEX(column_a,9)": (REF, {"libreoffice": VALUE}),
    "no_such_name+1": (NAME, {"formulas": REF}),
    'ISNUMBER("4")': (False, {"formulas": True}),  # formulas: a text that reads as a number is a number
    "SUM(text_eight,1)": (1, {"formulas": 9}),
    "COUNT(text_eight)": (0, {"formulas": 1}),
    "ISNUMBER(logical)": (False, {"libreoffice": True}),  # LibreOffice: TRUE is the number 1
    "SUM(logical,1)": (1, {"libreoffice": 2}),
    "COUNT(logical)": (0, {"libreoffice": 1}),
    'COUNTIF(mostly_empty,"?*")': (1, {"formulas": 3}),  # formulas: "?" and "<>" match an empty text; count with <>"" in SUMPRODUCT
    'COUNTIF(mostly_empty,"<>")': (3, {"formulas": 2}),
    "SUMPRODUCT(INT(column_c)*1)": (21, {"formualizer": VALUE}),  # formualizer: a function of one value takes no array
    "SUMPRODUCT((LEN(column_b)>4)*1)": (4, {"formualizer": 1}),
}

FORMULAS = [formula for formula, _ in CASES] + list(DEPARTURES)

PROBES = {
    "probe_typed": 'IFERROR(IF(ISBLANK({cell}),"",{cell}),"error")',
    "probe_blank": "ISBLANK({cell})",
    "probe_text": "ISTEXT({cell})",
    "probe_number": "ISNUMBER({cell})",
    "probe_length": "LEN({cell})",
    "probe_twice": "{cell}*2",
    "probe_echo": "{cell}",
    "probe_other": "second_input",
    "probe_both": "IFERROR({cell}+second_input,0)",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A workbook with every case, stale cached values (999) and a protected sheet of inputs."""
    path = tmp_path_factory.mktemp("engines") / "Every function.xlsx"
    workbook = xlsxwriter.Workbook(path)
    data, cases, inputs = map(workbook.add_worksheet, ("Data", "Cases", "My inputs"))
    for row, values in enumerate(DATA):
        for column, value in enumerate(values):
            if value is not None:
                data.write_string(row, column, value) if isinstance(value, str) else data.write(row, column, value)
    for letter in "ABCD":
        workbook.define_name(f"column_{letter.lower()}", f"=Data!${letter}$1:${letter}$6")
    workbook.define_name("blank_cell", "=Data!$F$1")
    data.write_formula("F2", '=""', None, 999)
    for row, formula in enumerate(['=""', '="x"', '=""']):
        data.write_formula(row, 6, formula, None, 999)
    workbook.define_name("mostly_empty", "=Data!$G$1:$G$3")
    data.write_string("F3", "8")
    data.write_boolean("F4", True)
    for row, name in enumerate(["empty_text", "text_eight", "logical"], start=2):
        workbook.define_name(name, f"=Data!$F${row}")
    for row, formula in enumerate(FORMULAS):
        cases.write_formula(row, 0, f"={formula}", None, 999)
        workbook.define_name(f"case_{row}", f"=Cases!$A${row + 1}")
    inputs.write("B1", 5)
    inputs.write("B2", 7)
    inputs.protect()
    for name, cell in {"first_input": "$B$1", "second_input": "$B$2", "blank_input": "$B$3", "unread_input": "$B$4"}.items():
        workbook.define_name(name, f"='My inputs'!{cell}")
    for row, (name, formula) in enumerate(PROBES.items()):
        inputs.write_formula(row, 3, "=" + formula.format(cell="first_input"), None, 999)
        workbook.define_name(name, f"='My inputs'!$D${row + 1}")
    inputs.write_formula("E1", "=IF(ISBLANK(blank_input),1,2)", None, 999)
    workbook.define_name("probe_of_blank", "='My inputs'!$E$1")
    workbook.close()
    return path


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request):
    return request.getfixturevalue(f"engine_{request.param}")


@pytest.fixture(scope="module")
def session(engine, book):
    with engine.open(book) as opened:
        yield opened


@pytest.fixture(scope="module")
def results(session):
    return session.all_cells()


# Functions


def test_every_function_of_the_safe_subset_has_a_case():
    used = {node.function for formula, _ in CASES for node in walk(read(formula).tree) if isinstance(node, Call)}
    assert used == SAFE_FUNCTIONS


@pytest.mark.parametrize("formula, expected", CASES, ids=[formula for formula, _ in CASES])
def test_function_as_documented(results, formula, expected):
    assert_value(results["Cases", f"A{FORMULAS.index(formula) + 1}"], expected)


@pytest.mark.parametrize("formula", DEPARTURES)
def test_known_departure_from_excel(engine, results, formula):
    documented, departures = DEPARTURES[formula]
    assert_value(results["Cases", f"A{FORMULAS.index(formula) + 1}"], departures.get(engine.name, documented))


def assert_value(value, expected):
    assert type(value) is (float if type(expected) is int else type(expected))
    assert value == (pytest.approx(expected, rel=1e-12) if isinstance(value, float) else expected)


def test_all_cells_are_the_formula_cells(results):
    assert len(results) == len(FORMULAS) + len(PROBES) + 5
    assert 999 not in results.values()
    assert results["Data", "F2"] == ""


def test_formulas_gives_every_function_alike_in_slices(engine_formulas, book):
    values = {}
    for piece in slices.cut(book, size=30):
        values |= recomputed(piece, values)
    with engine_formulas.open(book) as opened:
        assert values == opened.recalculated()


# Typing


def test_the_file_as_it_stands(session):
    found = session.evaluate({}, [*PROBES, "first_input", "blank_input"])
    assert found == {
        "probe_typed": 5, "probe_blank": False, "probe_text": False, "probe_number": True, "probe_length": 1, "probe_twice": 10, "probe_echo": 5,
        "probe_other": 7, "probe_both": 12, "first_input": 5, "blank_input": None,
    }
    assert type(found["probe_typed"]) is float and type(found["first_input"]) is float and type(found["probe_blank"]) is bool


@pytest.mark.parametrize("typed", ["40 GB", " ", "*", "?", "=1+1", "8", "1e3", "TRUE", "#N/A", "'quoted", "✓ text", 'with "quotes"', "two\nlines", ""])
def test_text_stays_text(engine, session, typed):
    found = session.evaluate({"first_input": typed}, ["first_input", *PROBES])
    assert found["first_input"] == found["probe_typed"] == found["probe_echo"] == typed
    reads_as_number = engine.name == "formulas" and typed in ("8", "1e3")
    assert (found["probe_blank"], found["probe_text"], found["probe_number"]) == (False, True, reads_as_number)
    assert found["probe_length"] == len(typed)
    assert type(found["probe_typed"]) is str


@pytest.mark.parametrize("typed", [8, -8, 0, 1.5, 1e6, 1e-9, 123456789012, 0.1])
def test_number(session, typed):
    found = session.evaluate({"first_input": typed}, list(PROBES))
    assert (found["probe_typed"], found["probe_twice"]) == (typed, typed * 2)
    assert (found["probe_blank"], found["probe_text"], found["probe_number"]) == (False, False, True)


def test_blank(session):
    found = session.evaluate({"first_input": None}, ["first_input", *PROBES])
    assert found["first_input"] is None
    assert (found["probe_typed"], found["probe_blank"], found["probe_text"], found["probe_number"]) == ("", True, False, False)
    assert (found["probe_length"], found["probe_twice"], found["probe_echo"]) == (0, 0, 0)


@pytest.mark.parametrize("typed", [True, False])
def test_logical(engine, session, typed):
    found = session.evaluate({"first_input": typed}, list(PROBES))
    assert found["probe_typed"] == typed and found["probe_blank"] is False and found["probe_text"] is False
    assert found["probe_number"] is (engine.name == "libreoffice")


def test_a_cell_that_was_filled_can_be_blanked_and_filled_again(session):
    for typed, expected in [(3, 2), (None, 1), ("text", 2), (None, 1)]:
        assert session.evaluate({"blank_input": typed}, ["probe_of_blank"]) == {"probe_of_blank": expected}


def test_inputs_of_earlier_calls_are_forgotten(session):
    both = ["probe_echo", "probe_other", "probe_of_blank", "first_input"]
    assert list(session.evaluate({"first_input": 1, "second_input": 2, "blank_input": 3}, both).values()) == [1, 2, 2, 1]
    assert list(session.evaluate({"second_input": 4}, both).values()) == [5, 4, 1, 5]
    assert list(session.evaluate({"first_input": None}, both).values()) == [0, 7, 1, None]
    assert list(session.evaluate({}, both).values()) == [5, 7, 1, 5]
    session.evaluate({"first_input": 1}, ["probe_other"])
    assert session.all_cells()["My inputs", "D7"] == 5


def test_order_of_inputs_does_not_matter(session):
    assert session.evaluate({"first_input": 1, "second_input": 20}, ["probe_both"]) == {"probe_both": 21}
    assert session.evaluate({"second_input": 1, "first_input": 30}, ["probe_both"]) == {"probe_both": 31}


def test_an_input_that_nothing_reads(session):
    assert session.evaluate({"unread_input": 3}, ["unread_input", "probe_echo"]) == {"unread_input": 3, "probe_echo": 5}


def test_outputs_may_repeat_or_be_none(session):
    assert session.evaluate({"first_input": 1}, ["probe_echo", "probe_echo"]) == {"probe_echo": 1}
    assert session.evaluate({"first_input": 1}, []) == {}


# Refusals


def test_an_unknown_name_is_refused(session):
    with pytest.raises(UsageError, match="no cell is named 'frist_input'; did you mean 'first_input'"):
        session.evaluate({"frist_input": 1}, ["probe_echo"])
    with pytest.raises(UsageError, match="no cell is named 'column_a'"):
        session.evaluate({}, ["column_a"])


def test_a_formula_is_no_input(session):
    with pytest.raises(UsageError, match="'probe_echo' .* is a formula"):
        session.evaluate({"probe_echo": 1}, ["probe_other"])


@pytest.mark.parametrize("value", [[1], {"a": 1}, object()])
def test_a_value_that_nobody_can_type_is_refused(session, value):
    with pytest.raises(UsageError, match="not something that can be typed"):
        session.evaluate({"first_input": value}, ["probe_echo"])


def test_an_unknown_engine_is_refused():
    with pytest.raises(UsageError, match="no engine 'formula'; did you mean 'formulas'"):
        by_name("formula")


@pytest.mark.parametrize("name", list(ENGINES))
def test_a_missing_engine_says_what_to_install(name, book, monkeypatch):
    engine = ENGINES[name]
    monkeypatch.setattr(engine, "available", staticmethod(lambda: False))
    with pytest.raises(EngineMissing, match=f"engine {name} .*install"):
        engine.open(book)


def test_a_file_that_is_no_workbook_is_refused(engine, tmp_path):
    (tmp_path / "text.xlsx").write_text("not a workbook")
    for file in ("text.xlsx", "missing.xlsx"):
        with pytest.raises(UsageError, match="cannot be read as an .xlsx workbook"):
            engine.open(tmp_path / file)


# LibreOffice's process


def has_ended(process: int) -> bool:
    """Whether a process is gone, or goes within a few seconds."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_libreoffice_ends_with_its_session(engine_libreoffice, book):
    with pytest.raises(ZeroDivisionError):
        with engine_libreoffice.open(book) as session:
            group = session._worker.pid
            os.killpg(group, 0)
            raise ZeroDivisionError
    assert has_ended(-group)


def test_libreoffice_that_does_not_listen_is_ended(engine_libreoffice, book, tmp_path, monkeypatch):
    program = tmp_path / "soffice"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/child\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(libreoffice, "_soffice", lambda: str(program))
    monkeypatch.setattr(libreoffice, "START_LIMIT_SECONDS", 1)
    started = time.monotonic()
    with pytest.raises(VerifyError, match="did not start within 1 s"):
        engine_libreoffice.open(book)
    assert time.monotonic() - started < 20
    assert has_ended(int((tmp_path / "child").read_text()))


def test_a_worker_that_was_killed_is_reported(engine_libreoffice, book):
    session = engine_libreoffice.open(book)
    group = session._worker.pid
    os.killpg(group, signal.SIGKILL)
    with pytest.raises(VerifyError, match="LibreOffice failed"):
        session.evaluate({}, ["probe_echo"])
    session.close()
    assert has_ended(-group)
