"""Levers, Cards and Scenarios of the training and the inference book show what the reference says, and its maxima are right to the last unit.

tests/test_decisions.py has the same, and more, of the fine-tuning book.
"""
from __future__ import annotations

from random import Random

import pytest

from builder.book import book_names, build
from builder.engines import ErrorValue
from builder.presets import load
from builder.reference import decisions, estimate, outputs
from tests.decisions import SHEETS, differences, name_cells, read, settings, shown
from tests.scenarios import scenarios

SEED = 20261202
MAXIMA = {"training": {"max_batch_size": "batch_size", "max_sequence_length": "sequence_length"}, "inference": {"max_concurrent_sequences": "concurrent_sequences"}}
WRONG = {"training": {"batch_size": 0}, "inference": {"prompt_tokens": 0}}
FITS = "✓ FITS"


@pytest.fixture(scope="session", params=[name for name in book_names() if name != "finetune"])
def presets(request):
    return load(book=request.param)


@pytest.fixture(scope="session")
def path(presets, tmp_path_factory):
    return build(presets.book, tmp_path_factory.mktemp(presets.book)).path


@pytest.fixture(scope="session")
def opened(engine_formualizer, path):
    with engine_formualizer.open(path) as session:
        yield name_cells(session)


def drawn(presets, count, seed=SEED):
    """Jobs of every kind with a total."""
    jobs = [typed for typed in scenarios(presets, 500, seed) if estimate(presets, typed).get("activations_modelled", 1)]
    return Random(seed).sample(jobs, count)


def wrong_cells(session, presets, jobs):
    """Cells of the sheets that differ from the reference, over many jobs."""
    found = []
    for number, typed in enumerate(jobs):
        expected = shown(decisions(presets, typed) | settings(presets))
        assert not [name for name in expected if name not in session.file.columns and name not in session.file.names]
        found += [(number, *difference, typed) for difference in differences(read(session, typed, expected), expected)]
    return found


def test_formualizer_shows_what_the_reference_says_of_8_jobs(opened, presets):
    assert not wrong_cells(opened, presets, drawn(presets, 8))


@pytest.mark.oracle
def test_formualizer_shows_what_the_reference_says_of_150_jobs(opened, presets):
    assert not wrong_cells(opened, presets, drawn(presets, 150, SEED + 1))


@pytest.mark.oracle
def test_libreoffice_shows_what_the_reference_says_of_150_jobs(engine_libreoffice, path, presets):
    with engine_libreoffice.open(path) as session:
        assert not wrong_cells(name_cells(session), presets, drawn(presets, 150, SEED + 2))


def test_every_formula_of_the_sheets_is_compared(opened, presets):
    names = shown(decisions(presets, {}) | settings(presets))
    cells = {cell for name in names for cell in opened.file.columns.get(name, [opened.file.names.get(name)])}
    lines = {cell for name, column in opened.file.columns.items() if name.startswith("line_") for cell in column}
    assert not {cell for cell in opened.file.formulas if cell.sheet in SHEETS} - cells - lines
    assert len(cells) > 1500


def test_a_wrong_input_leaves_no_figure_and_no_error(opened, presets):
    found = read(opened, WRONG[presets.book], shown(decisions(presets, {})))
    figures = {name: values for name, values in found.items()
               if name.startswith(("lever_", "pair_", "cards_")) and name.endswith(("total_gb", "saved_gb", "headroom_gb", "verdict", "utilization"))}
    assert len(figures) > 8 and not {name for name, values in figures.items() if set(values) - {""}}
    assert found["smallest_card"] == ["–"] and found["cards_sentence"] == [""] and found["lever_advice"] == [""]
    shown_ones = {name for name in found if not name.startswith(("max_", "cards_at_least", "smallest_place", "most_", "largest_card", "dominant", "kv_"))}
    assert not {name for name in shown_ones if any(isinstance(value, ErrorValue) for value in found[name])}


def test_one_more_does_not_fit(presets):
    """Each maximum, typed in, FITS, and one more does not."""
    tried = 0
    for typed in drawn(presets, 60, SEED + 3):
        found = outputs(presets, typed)
        for name, input_name in MAXIMA[presets.book].items():
            most = found[name]
            limit = next(spec.maximum for spec in presets.inputs if spec.name == input_name)
            if most >= 1:
                assert estimate(presets, typed | {input_name: most})["fit_verdict"] == FITS, (name, most, typed)
            if most < limit:
                assert estimate(presets, typed | {input_name: most + 1})["fit_verdict"] != FITS, (name, most, typed)
                tried += 1
    assert tried > 40


def test_the_largest_in_the_cells_are_those_of_the_reference(opened, presets):
    for typed in drawn(presets, 40, SEED + 4):
        expected = outputs(presets, typed)
        names = [name for name in expected if name.startswith("max_")]
        assert opened.evaluate(typed, names) == {name: expected[name] for name in names}, typed
