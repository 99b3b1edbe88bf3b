"""Each workbook equals the Python reference: scenarios in three engines, on the one-column render and on the whole book."""
from __future__ import annotations

import re

import pytest

from builder.book import DIST, book_names, build, checked_layout
from builder.formula import Formula
from builder.grid import column_letter
from builder.presets import load
from builder.reference import decisions, estimate, estimate_outputs, public_outputs, quantity_names
from builder.template import ROOT, load_templates
from builder.verify import compare, names_in_both, verify
from tests.scenarios import bad_inputs, scenarios, takes_for_number

SEED = 20261130
# Book -> the least number of quantities of its one-column render, of its other names, and of what a verification compares.
LEAST = {"finetune": (700, 300, 90), "training": (400, 250, 90), "inference": (250, 200, 90)}


@pytest.fixture(scope="session", params=book_names())
def book(request):
    return request.param


@pytest.fixture(scope="session")
def presets(book):
    return load(book=book)


@pytest.fixture(scope="session")
def whole(book):
    return DIST / load_templates(book).book.file


@pytest.fixture(scope="session")
def one_column(book, tmp_path_factory):
    return build(book, tmp_path_factory.mktemp(book), all_scenarios=False).path


def differences(session, presets, jobs):
    """Quantities on which a workbook and the reference differ, over many jobs."""
    found = []
    for number, typed in enumerate(jobs):
        expected = estimate(presets, typed)
        rows = compare(session.evaluate(typed, names_in_both(session, expected)), expected, public_outputs(presets.book))
        assert len(rows) > 20
        found += [(number, row.name, row.book, row.reference, typed) for row in rows if not row.agrees]
    return found


def test_every_line_item_has_its_twin():
    lines = {path.stem for path in (ROOT / "lines").glob("*.yaml")}
    missing = sorted(line for line in lines if not (ROOT.parent / "builder" / "reference" / f"{line}.py").exists())
    assert not missing, [f"write builder/reference/{line}.py, the twin of templates/lines/{line}.yaml" for line in missing]


# Rows that are shown or checked but lead to no quantity: texts of the strip, and the items at the peak in GB, whose bytes have a twin.
SHOWN_ONLY = {"ledger_advice", "load_advice", "unused_gb", "accounts_note", "article_items_at_peak_bytes"}


def test_every_quantity_has_its_twin_or_leads_to_one_that_has(book, presets):
    """A step without a twin is compared through what reads it; a quantity that nothing compares names the file to write."""
    reference = set(quantity_names(presets)) | set(decisions(presets, {}))
    lines = load_templates(book).lines
    read_by = {}
    for line in lines:
        for row in line.rows:
            for name in row.formula.names:
                read_by.setdefault(name, set()).add(row.name)

    def compared(name):
        return name in reference | SHOWN_ONLY or any(map(compared, read_by.get(name, ())))

    missing = [f"write '{row.name}' in builder/reference/{line.slug}.py, the twin of templates/lines/{line.slug}.yaml"
               for line in lines for row in line.rows if not compared(row.name) and not row.name.endswith("_at_peak_gb")]
    assert not missing, missing
    assert set(public_outputs(book)) <= reference


def test_both_renders_give_the_users_column_the_same_formulas(book):
    """So what is proved of the one column is proved of the book: every quantity by the same formula, of the same quantities."""
    placed, layouts = [], [checked_layout(book, all_scenarios) for all_scenarios in (False, True)]
    for layout in layouts:
        column = layout.names["fit_verdict"].column
        sheet = next(sheet for sheet in layout.sheets if sheet.name == "Workings")
        rows = {area.row: name for name, area in layout.names.items() if (area.sheet, area.column) == ("Workings", column) and name in layout.rows}
        texts = {rows[row]: layout.place(cell, row, at) for (row, at), cell in sheet.cells.items() if isinstance(cell.content, Formula) and at == column}
        letter = column_letter(column)
        placed.append({name: re.sub(rf"\b{letter}\$(\d+)", lambda found: rows[int(found[1]) - 1], text) for name, text in texts.items()})
    one, every = placed
    quantities, names, _ = LEAST[book]
    assert {name: every[name] for name in one} == one and len(one) > quantities
    others = {name: area for name, area in layouts[0].names.items() if area.sheet != "Workings" and not name.startswith("check")}
    assert {name: layouts[1].names[name] for name in others} == others and len(others) > names


@pytest.mark.parametrize("start, count", [(0, 30), pytest.param(30, 270, marks=pytest.mark.oracle)])
def test_formulas_agrees_on_300_scenarios(engine_formulas, one_column, presets, start, count):
    with engine_formulas.open(one_column) as session:
        assert not differences(session, presets, scenarios(presets, 300, SEED)[start:start + count])


@pytest.mark.parametrize("start, count", [(0, 350), pytest.param(350, 4650, marks=pytest.mark.oracle)])
def test_formualizer_agrees_on_5000_scenarios(engine_formualizer, one_column, presets, start, count):
    with engine_formualizer.open(one_column) as session:
        assert not differences(session, presets, scenarios(presets, 5000, SEED + 1)[start:start + count])


@pytest.mark.oracle
def test_formualizer_agrees_on_the_whole_book(engine_formualizer, whole, presets):
    with engine_formualizer.open(whole) as session:
        assert not differences(session, presets, scenarios(presets, 100, SEED + 2)[:100])


@pytest.mark.parametrize("start, count", [(0, 50), pytest.param(50, 250, marks=pytest.mark.oracle)])
def test_libreoffice_agrees_on_the_whole_book(engine_libreoffice, whole, presets, start, count):
    with engine_libreoffice.open(whole) as session:
        assert not differences(session, presets, scenarios(presets, 300, SEED)[start:start + count])


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_a_bad_input_gives_a_message_and_no_figure(engine, request, book, one_column, presets):
    verdicts = [name for name in public_outputs(book) if name.endswith("fit_verdict")]
    asked = [name for name in estimate_outputs(book)]
    with request.getfixturevalue(f"engine_{engine}").open(one_column) as session:
        for name, typed in bad_inputs(presets):
            if takes_for_number(engine, typed):
                continue
            expected = estimate(presets, {name: typed})
            found = session.evaluate({name: typed}, asked)
            assert {found[verdict] for verdict in verdicts} == {"CHECK INPUTS"}, (name, typed)
            assert found["input_message"] == expected["input_message"] and f"({name})" in found["input_message"], (name, typed)
            numbers = {output for output, value in found.items() if isinstance(value, float)}
            assert not numbers, (name, typed, numbers)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])  # tests/test_slices.py has formulas recompute every cell
def test_every_engine_verifies_the_shipped_book(engine, request, book, whole):
    result = verify(whole, request.getfixturevalue(f"engine_{engine}"))
    assert not [row for row in result.rows if not row.agrees]
    assert not result.stale
    assert len(result.rows) > LEAST[book][2]
