"""Levers, Cards, QLoRA crossover and Scenarios show what the reference says, and what is solved for is right to the last unit."""
from __future__ import annotations

import re
import shutil
from dataclasses import replace
from math import isclose
from random import Random

import pytest

from builder import presets as preset_files
from builder.book import build
from builder.check import check
from builder.engines import ErrorValue
from builder.evaluate import evaluate
from builder.layout import lay_out
from builder.own_rows import with_own_rows
from builder.presets import load
from builder.reference import break_even, cheapest_change, decisions, estimate, largest, outputs, scenarios
from builder.reference.cheapest_change import Change
from builder.reference.sized import size
from builder.template import load_templates
from builder.verify import equal
from tests import scenarios as jobs
from tests.decisions import LINE_COLUMNS, SHEETS, differences, line_names, name_cells, needed, on_lines, read, settings, shown

BOOK = "finetune"
SEED = 20261201
PRESETS = load()
FITS, TIGHT, DOES_NOT_FIT, CHECK_INPUTS = "✓ FITS", "! TIGHT", "✗ DOES NOT FIT", "CHECK INPUTS"
KEYS = {"int8": "LoRA on INT8", "qlora": "QLoRA", "kbit": "QLoRA, k-bit prepared"}


def drawn(count: int, seed: int = SEED) -> list[dict[str, object]]:
    """Jobs of every kind: pairs of choices, boundaries, and random ones."""
    return Random(seed).sample(jobs.scenarios(PRESETS, 600, seed), count)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return build(BOOK, tmp_path_factory.mktemp("whole")).path


@pytest.fixture(scope="session")
def book(engine_formualizer, whole):
    with engine_formualizer.open(whole) as session:
        yield name_cells(session)


@pytest.fixture(scope="session")
def one_column(engine_formualizer, tmp_path_factory):
    with engine_formualizer.open(build(BOOK, tmp_path_factory.mktemp("one"), all_scenarios=False).path) as session:
        yield session


# Every cell


def wrong_cells(session, typed_jobs) -> list[tuple]:
    """Cells of the four sheets that differ from the reference, and lines that do not lie on its values, over many jobs."""
    names, found = line_names(session), []
    for number, typed in enumerate(typed_jobs):
        expected = shown(decisions(PRESETS, typed) | settings(PRESETS))
        assert not [name for name in expected if name not in session.file.columns and f"{name}[1]" not in session.file.names and name not in session.file.names]
        cells = read(session, typed, [*expected, *LINE_COLUMNS, "chunk_token_bytes"])
        lines = {name: cells.pop(name) for name in (*LINE_COLUMNS, "chunk_token_bytes")}
        found += [(number, *difference, typed) for difference in differences(cells, expected)]
        found += [(number, *difference, typed) for difference in off_the_lines(lines, names, typed, Random(number))]
    return found


def off_the_lines(lines, names, typed, random) -> list[tuple]:
    """Lines that give another value than the reference, at two batches and two sequences."""
    window = next(model for model in PRESETS.models if model.name == typed["base_model"]).sliding_window
    found = []
    for name, at in [("batch_size", random.randint(2, 100)), ("batch_size", random.randint(2, 100_000)),
                     ("sequence_length", random.randint(1, 5000)), ("sequence_length", random.randint(5000, 100_000))]:
        values = estimate(PRESETS, typed | {name: at})
        masked = window and not values["eager_on"] and at >= window
        kind = "batch" if name == "batch_size" else "masked" if masked else "open"
        fused = values["fused_loss_on"] == 1
        given = needed(on_lines(lines, names, kind, at), fused * values["chunk_tokens"] * lines["chunk_token_bytes"][0], fused)
        found += [(f"line of {quantity}", at, value, values[quantity]) for quantity, value in given.items()
                  if not isclose(value, values[quantity], rel_tol=1e-9, abs_tol=1)]
    return found


def test_formualizer_shows_what_the_reference_says_of_15_jobs(book):
    assert not wrong_cells(book, drawn(15))


@pytest.mark.oracle
def test_formualizer_shows_what_the_reference_says_of_100_jobs(book):
    assert not wrong_cells(book, drawn(100, SEED + 1))


@pytest.mark.oracle
def test_libreoffice_shows_what_the_reference_says_of_300_jobs(engine_libreoffice, whole):
    with engine_libreoffice.open(whole) as session:
        assert not wrong_cells(name_cells(session), drawn(300, SEED + 2))


def test_every_formula_of_the_sheets_is_compared(book):
    names = [name for name in shown(decisions(PRESETS, {}) | settings(PRESETS))]
    cells = {cell for name in names for cell in book.file.columns.get(name, [book.file.names.get(name)])}
    lines = {cell for name, column in book.file.columns.items() if name.startswith(("line_", "method_line_")) for cell in column}
    assert not {cell for cell in book.file.formulas if cell.sheet in SHEETS} - cells - lines
    assert len(cells) > 5000


def test_a_wrong_input_leaves_no_figure_and_no_error(book):
    """Names of cards, levers and models stand; what is computed is blank."""
    names = [name for name in shown(decisions(PRESETS, {}))]
    found = read(book, {"lora_rank": -1}, names)
    figures = {name: values for name, values in found.items() if re.fullmatch(r"(lever|pair|cards|method|fit_\w+|by_\w+|takes_\w+)_(gb|verdict|headroom_gb|utilization|max_\w+|share)", name)}
    assert len(figures) > 40
    assert not {name for name, values in figures.items() if name not in ("fit_capacity_gb", "cards_capacity_gb") and set(values) - {""}}
    assert found["smallest_card"] == ["–"] and found["cards_sentence"] == found["crossover_sentence"] == found["lever_advice"] == [""]
    errors = {name for name, values in found.items() if any(isinstance(value, ErrorValue) for value in values)}
    assert not [name for name in errors if not name.startswith(("break_even", "max_", "shown_break_even"))], errors


# Scenarios of one's own


def typed_rows(random: Random, count: int) -> list[dict[str, object]]:
    """What is typed into so many rows of the sheet: some inputs of a random job; most are valid beside the examples' and the user's."""
    found = []
    for job in random.sample(jobs.scenarios(PRESETS, 600, SEED), count):
        share = random.choice((0.1, 0.5, 1))
        found.append({name: value for name, value in job.items() if value is not None and random.random() <= share})
    return found


def wrong_scenarios(session, typed, rows) -> list[tuple]:
    """Cells that differ where rows are typed into, from the first on: over what the examples type, and into free rows."""
    examples = [example.sets for example in PRESETS.scenarios] + [{}] * (len(rows) - len(PRESETS.scenarios))
    expected = scenarios.columns(PRESETS, typed, [sets | row for sets, row in zip(examples, rows)])
    cells = {f"scenario_{name}[{number}]": value for number, row in enumerate(rows, 1) for name, value in row.items()}
    cells |= {f"scenarios_name[{number}]": f"My job {number}" for number in range(1, len(rows) + 1)}
    found = read(session, typed | cells, expected)
    return differences(found, expected)


def check_scenarios(session, rounds: int) -> None:
    random = Random(SEED)
    rows = len(session.file.columns["scenarios_name"])
    messages = 0
    for typed in [{}, *drawn(rounds - 1)]:
        typed_over = typed_rows(random, rows)
        assert not wrong_scenarios(session, typed, typed_over)


def test_rows_typed_over_and_free_rows_are_jobs(book):
    check_scenarios(book, 3)


@pytest.mark.oracle
def test_500_rows_typed_over_and_free_rows_are_jobs(book):
    check_scenarios(book, 20)


def test_a_wrong_cell_of_a_row_gives_its_message(book):
    wrong = [(name, value) for name, value in jobs.bad_inputs(PRESETS) if value not in (None, "")]
    rows = len(book.file.columns["scenarios_name"])
    sample = Random(SEED).sample(wrong, 3 * rows)
    for start in range(0, len(sample), rows):
        typed = [{name: value} for name, value in sample[start:start + rows]]
        found = scenarios.columns(PRESETS, {}, typed)
        assert set(found["scenarios_verdict"]) == {CHECK_INPUTS} and all(f"({name})" in text for (name, _), text in zip(sample[start:], found["scenarios_message"]))
        assert not wrong_scenarios(book, {}, typed)


def test_a_row_may_be_right_where_the_sizing_sheet_is_wrong(book):
    typed = {"lora_rank": -1, "base_model": None}
    rows = [{"lora_rank": 16}, {"lora_rank": 16, "base_model": "Llama 2 7B"}]
    expected = scenarios.columns(PRESETS, typed, [PRESETS.scenarios[0].sets | rows[0], PRESETS.scenarios[1].sets | rows[1]])
    assert set(expected["scenarios_message"]) == {""}
    assert not wrong_scenarios(book, typed, rows)


# The largest batch and sequence


INPUT_OF = {name: "batch_size" if "batch" in name else "sequence_length" for name in largest.OUTPUTS}


def fits(name: str, values) -> bool:
    return values["tight_total_gb"] <= values["gpu_capacity_gb"] if name.endswith("_tight") else values["fit_verdict"] == FITS


def not_the_largest(typed_jobs, evaluated) -> list[tuple]:
    """Where a largest number does not fit, or one more does."""
    found = []
    for typed in typed_jobs:
        solved = outputs(PRESETS, typed)
        for name, input_name in INPUT_OF.items():
            number = solved[name]
            if number > 0 and not fits(name, evaluated(typed | {input_name: number})):
                found.append((name, number, "does not fit", typed))
            if number < largest.MOST and fits(name, evaluated(typed | {input_name: number + 1})):
                found.append((name, number + 1, "fits", typed))
    return found


def test_the_largest_of_60_jobs_fit_and_one_more_does_not():
    assert not not_the_largest(drawn(60), lambda typed: estimate(PRESETS, typed))


@pytest.mark.oracle
def test_the_largest_of_500_jobs_fit_and_one_more_does_not():
    assert not not_the_largest(jobs.scenarios(PRESETS, 700, SEED)[-500:], lambda typed: estimate(PRESETS, typed))


def test_typed_into_the_workbook_the_largest_of_20_jobs_fit_and_one_more_does_not(one_column):
    wanted = ["fit_verdict", "tight_total_gb", "gpu_capacity_gb"]
    assert not not_the_largest(drawn(20), lambda typed: one_column.evaluate(typed, wanted))


def test_nothing_between_the_largest_and_the_job_fails():
    """What is solved by bisection never needs less for more: so the number found is the only one."""
    random = Random(SEED)
    for typed in drawn(40):
        sized = size(PRESETS, typed)
        needs = largest.needs_of(sized.job, sized.shared)
        for _ in range(5):
            least = int(2 * 500_000**random.random())
            more = least + random.choice((1, 1 + int(least * random.random())))
            for some, others in ((needs(least, sized.job.sequence_length), needs(more, sized.job.sequence_length)),
                                 (needs(sized.job.batch_size, least), needs(sized.job.batch_size, more))):
                assert all(one <= other * (1 + 1e-12) for one, other in zip(some, others)), (typed, least, more)


# Break-even


def methods(typed) -> dict[str, dict[str, object]]:
    """The job by method."""
    return dict(zip(("lora", *KEYS), (typed | method.sets for method in PRESETS.methods)))


def less(one, other, **typed) -> bool:
    """Whether a job needs less than another, both with these inputs."""
    return estimate(PRESETS, one | typed)["traced_reserve_bytes"] < estimate(PRESETS, other | typed)["traced_reserve_bytes"]


def solved(typed) -> dict[str, object]:
    """Break-even tokens by method."""
    needs = {key: break_even.needs_of(size(PRESETS, job)) for key, job in methods(typed).items()}
    return {key: break_even.quantities(key, name, needs["lora"], needs[key])[f"break_even_{key}_tokens"] for key, name in KEYS.items()}


def wrong_break_evens(typed) -> list[tuple]:
    """Where a break-even is no change of sign between whole batches, or there is one although it never or always needs less."""
    by_method, found = methods(typed), []
    for key, tokens in solved(typed).items():
        def less_at(batch):
            return less(by_method[key], by_method["lora"], batch_size=batch)

        if isinstance(tokens, str):
            if any(less_at(batch) != (tokens == "always") for batch in (2, 30, 1000, 30_000, 1_000_000)):
                found.append((key, tokens, typed))
        elif (below := int(tokens // typed["sequence_length"])) >= 2 and less_at(below) == less_at(below + 1):
            found.append((key, tokens, typed))
    return found


def test_break_evens_change_sign_and_never_and_always_do_not():
    assert not [wrong for typed in drawn(60) for wrong in wrong_break_evens(typed)]


@pytest.mark.parametrize("key", KEYS)
def test_at_one_token_per_sequence_a_break_even_is_a_whole_batch(key):
    """Then every number of tokens is a job: the last that needs less, and the next."""
    random, found = Random(SEED), 0
    for typed in drawn(300):
        typed = typed | {"sequence_length": 1}
        by_method, tokens = methods(typed), None
        needs = {name: break_even.needs_of(size(PRESETS, by_method[name])) for name in ("lora", key)}
        tokens = break_even.quantities(key, KEYS[key], needs["lora"], needs[key])[f"break_even_{key}_tokens"]
        if not isinstance(tokens, str) and 2 <= tokens < largest.MOST:
            first = less(by_method[key], by_method["lora"], batch_size=tokens)
            assert first != less(by_method[key], by_method["lora"], batch_size=tokens + 1), (typed, tokens)
            found += 1
    assert found >= 3
