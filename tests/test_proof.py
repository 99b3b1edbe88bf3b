"""The workbook equals the Python reference: scenarios in three engines, on the one-column render and on the whole book."""
from __future__ import annotations

import re

import pytest

from builder.book import DIST, checked_layout
from builder.formula import Formula
from builder.grid import column_letter
from builder.presets import load
from builder.reference import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS, decisions, estimate, quantity_names
from builder.template import ROOT, load_templates
from builder.verify import compare, names_in_both, verify
from tests.scenarios import bad_inputs, scenarios, takes_for_number

BOOK = "finetune"
SEED = 20261130


@pytest.fixture(scope="session")
def presets():
    return load()


@pytest.fixture(scope="session")
def whole():
    return DIST / load_templates(BOOK).book.file


def differences(session, presets, jobs):
    """Quantities on which a workbook and the reference differ, over many jobs."""
    found = []
    for number, typed in enumerate(jobs):
        expected = estimate(presets, typed)
        rows = compare(session.evaluate(typed, names_in_both(session, expected)), expected)
        assert len(rows) > 20
        found += [(number, row.name, row.book, row.reference, typed) for row in rows if not row.agrees]
    return found


def test_every_line_item_has_its_twin():
    lines = {path.stem for path in (ROOT / "lines").glob("*.yaml")}
    missing = sorted(line for line in lines if not (ROOT.parent / "builder" / "reference" / f"{line}.py").exists())
    assert not missing, [f"write builder/reference/{line}.py, the twin of templates/lines/{line}.yaml" for line in missing]


# Rows that are shown or checked but lead to no quantity: texts of the strip, and the items at the peak in GB, whose bytes have a twin.
SHOWN_ONLY = {"ledger_advice", "accounts_note", "article_items_at_peak_bytes"}


def test_every_quantity_has_its_twin_or_leads_to_one_that_has(presets):
    """A step without a twin is compared through what reads it; a quantity that nothing compares names the file to write."""
    reference = set(quantity_names(presets)) | set(decisions(presets, {}))
    lines = load_templates(BOOK).lines
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
    assert set(PUBLIC_OUTPUTS) <= reference


def test_both_renders_give_the_users_column_the_same_formulas():
    """So what is proved of the one column is proved of the book: every quantity by the same formula, of the same quantities."""
    placed, layouts = [], [checked_layout(BOOK, all_scenarios) for all_scenarios in (False, True)]
    for layout in layouts:
        column = layout.names["article_total_gb"].column
        sheet = next(sheet for sheet in layout.sheets if sheet.name == "Workings")
        rows = {area.row: name for name, area in layout.names.items() if (area.sheet, area.column) == ("Workings", column) and name in layout.rows}
        texts = {rows[row]: layout.place(cell, row, at) for (row, at), cell in sheet.cells.items() if isinstance(cell.content, Formula) and at == column}
        letter = column_letter(column)
        placed.append({name: re.sub(rf"\b{letter}\$(\d+)", lambda found: rows[int(found[1]) - 1], text) for name, text in texts.items()})
    one, every = placed
    assert {name: every[name] for name in one} == one and len(one) > 700
    others = {name: area for name, area in layouts[0].names.items() if area.sheet != "Workings" and not name.startswith("check")}
    assert {name: layouts[1].names[name] for name in others} == others and len(others) > 300


@pytest.mark.parametrize("start, count", [(0, 100), pytest.param(100, 200, marks=pytest.mark.oracle)])
def test_formulas_agrees_on_300_scenarios(engine_formulas, one_column, presets, start, count):
    with engine_formulas.open(one_column) as session:
        assert not differences(session, presets, scenarios(presets, 300, SEED)[start:start + count])


@pytest.mark.parametrize("start, count", [(0, 1000), pytest.param(1000, 4000, marks=pytest.mark.oracle)])
def test_formualizer_agrees_on_5000_scenarios(engine_formualizer, one_column, presets, start, count):
    with engine_formualizer.open(one_column) as session:
        assert not differences(session, presets, scenarios(presets, 5000, SEED + 1)[start:start + count])


@pytest.mark.oracle
def test_formualizer_agrees_on_the_whole_book(engine_formualizer, whole, presets):
    with engine_formualizer.open(whole) as session:
        assert not differences(session, presets, scenarios(presets, 100, SEED + 2)[:100])


def test_libreoffice_agrees_on_the_whole_book(engine_libreoffice, whole, presets):
    with engine_libreoffice.open(whole) as session:
        assert not differences(session, presets, scenarios(presets, 300, SEED)[:300])


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_a_bad_input_gives_a_message_and_no_figure(engine, request, one_column, presets):
    with request.getfixturevalue(f"engine_{engine}").open(one_column) as session:
        for name, typed in bad_inputs(presets):
            if takes_for_number(engine, typed):
                continue
            expected = estimate(presets, {name: typed})
            found = session.evaluate({name: typed}, ESTIMATE_OUTPUTS)
            assert found["fit_verdict"] == found["article_fit_verdict"] == "CHECK INPUTS", (name, typed)
            assert found["input_message"] == expected["input_message"] and f"({name})" in found["input_message"], (name, typed)
            numbers = {output for output, value in found.items() if isinstance(value, float)}
            assert not numbers, (name, typed, numbers)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])  # tests/test_slices.py has formulas recompute every cell
def test_every_engine_verifies_the_shipped_book(engine, request, whole):
    result = verify(whole, request.getfixturevalue(f"engine_{engine}"))
    assert not [row for row in result.rows if not row.agrees]
    assert not result.stale
    assert len(result.rows) > 90
