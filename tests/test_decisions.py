"""Levers, Cards, QLoRA crossover and Scenarios show what the reference says, and what is solved for is right to the last unit."""
from __future__ import annotations

import re
import shutil
from itertools import zip_longest
from math import ceil, isclose
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
from tests import scenarios as jobs
from tests.decisions import LINE_COLUMNS, SHEETS, differences, line_names, name_cells, needed, on_lines, read, settings, shown

BOOK = "finetune"
SEED = 20261201
PRESETS = load()
FITS, TIGHT, DOES_NOT_FIT, CHECK_INPUTS = "✓ FITS", "! TIGHT", "✗ DOES NOT FIT", "CHECK INPUTS"
NOT_MODELLED = {model.name for model in PRESETS.models if not PRESETS.families[model.family].activations_modelled}
KEYS = {"int8": "LoRA on INT8", "qlora": "QLoRA", "kbit": "QLoRA, k-bit prepared"}


def drawn(count: int, seed: int = SEED) -> list[dict[str, object]]:
    """Jobs of every kind: pairs of choices, boundaries, and random ones."""
    drawn = [typed for typed in jobs.scenarios(PRESETS, 800, seed)
             if typed["base_model"] not in NOT_MODELLED and not estimate(PRESETS, typed)["input_message"]]  # gate alone where there is none
    return Random(seed).sample(drawn, count)


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
        assert not [name for name in expected if name not in session.file.columns and name not in session.file.names]
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


def test_formualizer_shows_what_the_reference_says_of_8_jobs(book):
    assert not wrong_cells(book, drawn(8))


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


@pytest.mark.parametrize("typed", [{"lora_rank": -1}, {"base_model": "Mixtral 8x7B"}], ids=["wrong input", "activations not modelled"])
def test_a_job_without_a_total_leaves_no_figure_and_no_error(book, typed):
    """Names of cards, levers and models stand; what is computed of the job is blank."""
    names = [name for name in shown(decisions(PRESETS, {}))]
    found = read(book, typed, names)
    sheets = "lever|pair|cards|method|fit|by|takes" if "lora_rank" in typed else "lever|pair|cards|method|fit"  # other models have figures
    figure = re.compile(rf"({sheets})_\w*(total_gb|saved_gb|headroom_gb|verdict|utilization|max_\w+|share|billions|(lora|int8|qlora|kbit)_gb)")
    figures = {name: values for name, values in found.items() if figure.fullmatch(name)}
    assert len(figures) > 30 and not {name for name, values in figures.items() if set(values) - {""}}
    assert found["smallest_card"] == ["–"] and found["cards_sentence"] == found["crossover_sentence"] == found["lever_advice"] == [""]
    working = re.compile(r"break_even_\w+|(int8|qlora|kbit)_\w+|max_\w+|cards_at_least|smallest_place|fit_\w+_short|plot_\w+")
    assert not {name for name, values in found.items() if any(isinstance(value, ErrorValue) for value in values) and not working.fullmatch(name)}


NAMES = {"gb": "total_gb", "verdict": "fit_verdict", "max_batch": "max_batch_size", "max_sequence": "max_sequence_length",
         "reserve_bytes": "traced_reserve_bytes"}


def test_each_row_is_as_if_it_were_typed():
    """The tables of the reference against its estimates: a card, a lever, a pair, a method, a model, a sequence."""
    for number, typed in enumerate(drawn(6)):
        random, found = Random(number), decisions(PRESETS, typed)

        def same(prefix, row, changes, *names):
            values = outputs(PRESETS, typed | changes)
            assert [found[f"{prefix}_{column}"][row] for column in names] == [values[NAMES.get(column, column)] for column in names], (typed, changes)

        for row in random.sample(range(len(PRESETS.cards)), 3):
            changes = {"gpu_card": found["cards_name"][row], "gpu_capacity_override_gb": None}
            same("cards", row, changes, "total_gb", "headroom_gb", "utilization", "verdict", "max_batch", "max_sequence", "room_bytes")
            for key, method in zip(("lora", *KEYS), PRESETS.methods):
                same(f"fit_{key}", row, changes | method.sets, "gb", "headroom_gb", "verdict")
        levers = [cheapest_change.typed_by(size(PRESETS, typed), lever) for lever in PRESETS.levers]
        for row, changes in enumerate(levers):
            same("lever", row, changes, "total_gb", "headroom_gb", "verdict")
        for row, pair in random.sample(list(enumerate(PRESETS.pairs)), 3):
            assert found["pair_name"][row] == pair["name"] and found["pair_class"][row] == pair["cost_class"]
            same("pair", row, levers[pair["first"] - 1] | levers[pair["second"] - 1], "total_gb", "headroom_gb", "verdict")
        for row, model in random.sample([(row, model) for row, model in enumerate(PRESETS.models) if model.name not in NOT_MODELLED], 3):
            top = typed["adapter_top_layers"]
            overrides = dict.fromkeys(name for name in typed if name.endswith("_override"))
            changes = overrides | {"base_model": model.name, "adapter_top_layers": top and min(top, model.shape.layers)}
            for key, method in zip(("lora", *KEYS), PRESETS.methods):
                same(f"by_{key}", row, changes | method.sets, "gb", "reserve_bytes")
        for row, tokens in enumerate(found["sweep_tokens"]):
            same("sweep", row, {"sequence_length": tokens}, "total_gb")


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
    examples = [example.sets for example in PRESETS.scenarios]
    expected = scenarios.columns(PRESETS, typed, [sets | row for sets, row in zip_longest(examples, rows, fillvalue={})])
    cells = {f"scenario_{name}[{number}]": value for number, row in enumerate(rows, 1) for name, value in row.items()}
    cells |= {f"scenarios_name[{number}]": f"My job {number}" for number in range(1, len(rows) + 1)}
    found = read(session, typed | cells, expected)
    return differences(found, expected)


def check_scenarios(session, rounds: int) -> None:
    random = Random(SEED)
    rows = len(session.file.columns["scenarios_name"])
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
    assert not not_the_largest(drawn(500, SEED + 3), lambda typed: estimate(PRESETS, typed))


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


def break_evens(typed) -> dict[str, object]:
    """Break-even tokens by method."""
    needs = {key: break_even.needs_of(size(PRESETS, job)) for key, job in methods(typed).items()}
    return {key: break_even.quantities(key, name, needs["lora"], needs[key])[f"break_even_{key}_tokens"] for key, name in KEYS.items()}


def wrong_break_evens(typed) -> list[tuple]:
    """Where a break-even is no change of sign between whole batches, or never and always are not so at some batch."""
    by_method, found = methods(typed), []
    for key, tokens in break_evens(typed).items():
        signs = {batch: less(by_method[key], by_method["lora"], batch_size=batch) for batch in (2, 30, 1000, 30_000, 1_000_000)}
        if isinstance(tokens, str):
            right = set(signs.values()) == {tokens == "always"}
        else:
            below = int(tokens // typed["sequence_length"])
            at, above = (less(by_method[key], by_method["lora"], batch_size=batch) for batch in (below, below + 1)) if below >= 2 else (True, False)
            right = at != above
        found += [] if right else [(key, tokens, typed)]
    return found


def test_break_evens_change_sign_and_never_and_always_do_not():
    assert not [wrong for typed in drawn(25) for wrong in wrong_break_evens(typed)]


@pytest.mark.oracle
def test_break_evens_of_300_jobs_change_sign_and_never_and_always_do_not():
    assert not [wrong for typed in drawn(300) for wrong in wrong_break_evens(typed)]


# QLoRA nearly always needs less than LoRA on BF16; here not.
CROSSES = {
    "base_model": "Phi-3 medium 4k", "hidden_size_override": 6341, "heads_override": 10, "kv_heads_override": 2, "lora_rank": 29, "lora_targets": "Custom",
    "target_k": "Yes", "target_up": "Yes", "adapter_top_layers": 11, "compute_precision": "As stored, no autocast", "optimizer_choice": "8-bit Adam",
    "activation_checkpointing": "On", "training_loop": "Hugging Face Trainer", "allocator_mode": "Expandable segments",
}


@pytest.mark.parametrize("key, typed_jobs", [("int8", drawn(30)), ("qlora", [CROSSES]), ("kbit", drawn(30))], ids=KEYS)
def test_with_one_token_per_sequence_every_number_of_tokens_is_a_job(key, typed_jobs):
    """So the break-even itself, and one token more, can be estimated."""
    found = 0
    for typed in typed_jobs:
        typed = typed | {"sequence_length": 1}
        by_method, tokens = methods(typed), break_evens(typed)[key]
        if not isinstance(tokens, str) and 2 <= tokens < largest.MOST:
            at, above = (less(by_method[key], by_method["lora"], batch_size=batch) for batch in (tokens, tokens + 1))
            assert at and not above, (typed, tokens)
            found += 1
    assert found >= 1 and (key == "qlora" or found > 15)


@pytest.mark.parametrize("typed, key, tokens", [({}, "kbit", 1667), ({}, "qlora", "always"), ({"base_model": "Gemma 3 1B"}, "kbit", "never"),
                                                (CROSSES, "qlora", 596_909)])
def test_the_book_shows_a_break_even_or_says_that_there_is_none(book, typed, key, tokens):
    words = f"needs less up to {tokens:,} tokens per step, and no less beyond" if isinstance(tokens, int) else f"{tokens} needs less"
    found = read(book, typed, [f"break_even_{key}_tokens", f"break_even_{key}_note"])
    assert found == {f"break_even_{key}_tokens": [tokens], f"break_even_{key}_note": [f"{KEYS[key]} {words}."]}
    defaults = {spec.name: spec.default for spec in PRESETS.inputs}
    assert break_evens(defaults | typed)[key] == tokens and not wrong_break_evens(defaults | typed)


def test_where_a_base_needs_less_from_some_tokens_on_only():
    """No job was found that does; the search has words for it."""
    searched = break_even.search(lambda tokens: (0, 3 * tokens, 0), lambda tokens: (0, 1000 + tokens, 0))
    assert (searched.less, searched.found[-1], searched.ends) == (-1, 499, True)
    assert break_even.words("QLoRA", searched) == "QLoRA needs no less up to 499 tokens per step, and less beyond."


# Presets added as files


def copied(tmp_path, files):
    """The presets with files added: path -> (the file that it is like, {text: other text})."""
    root = shutil.copytree(preset_files.ROOT, tmp_path / "presets")
    for path, (like, changes) in files.items():
        text = (root / like).read_text(encoding="utf-8")
        for old, new in changes.items():
            assert text.count(old) == 1, (like, old)
            text = text.replace(old, new)
        (root / path).write_text(text, encoding="utf-8")
    return load(root)


def columns_of(presets, names) -> dict[str, list[object]]:
    """What the cells of a book with these presets show as it is built."""
    layout = lay_out(presets, load_templates(BOOK))
    check(layout)
    values = evaluate(layout)
    sheets = {sheet.name: sheet for sheet in layout.sheets}

    def cell(sheet, row, column):
        placed = sheets[sheet].cells.get((row, column))
        return values.get((sheet, row, column), placed and placed.content)

    areas = {name: layout.names[name] for name in names}
    return {name: [cell(area.sheet, row, area.column) for row in range(area.row, area.last_row + 1)] for name, area in areas.items()}


def test_a_model_and_a_card_added_as_files_are_shown_and_change_nothing_else(tmp_path):
    presets = copied(tmp_path, {
        "models/my-4b.yaml": ("models/llama-3.2-3b.yaml", {"name: Llama 3.2 3B": "name: My 4B", "layers: 28": "layers: 40", "value: 3212749824": "value: 4420783104"}),
        "cards/my-card.yaml": ("cards/l40s.yaml", {"name: L40S": "name: My card", "usable_mib: 45486": "usable_mib: 50000", "usable_mib: 48557": "usable_mib: 53400"}),
    })
    before, after = decisions(PRESETS, {}), decisions(presets, {})
    assert len(presets.models) == len(PRESETS.models) + 1 and len(presets.cards) == len(PRESETS.cards) + 1
    assert not differences(columns_of(presets, after), after)
    moved = re.compile(r"\w+_(row|rank|place)|by_\w+_(card|headroom_gb|held)")  # a new row moves the others, and a model may fit a new card
    for prefix, name, new in (("by", "by_name", "My 4B"), ("cards", "cards_name", "My card"), ("fit", "fit_card", "My card")):
        place = after[name].index(new)
        columns = [column for column in before if column.startswith(f"{prefix}_") and not moved.fullmatch(column) and isinstance(before[column], list)]
        assert len(columns) > 8 and new not in before[name]
        assert all(after[column][:place] + after[column][place + 1:] == before[column] for column in columns)
    assert "My card" in after["takes_card"]
    same = [name for name in before if name.startswith(("lever_", "ranked_", "pair_", "cheapest_", "max_", "break_even_", "scenarios_", "sweep_"))]
    assert len(same) > 80 and all(after[name] == before[name] for name in same)
    assert after["cards_capacity_gb"] == sorted(after["cards_capacity_gb"])


def test_levers_that_cost_and_save_alike_are_named_in_order(tmp_path):
    """Class before GB saved, GB saved before name: of two equal twins of checkpointing the first by name, which is not the first file."""
    twin = "levers/activation-checkpointing.yaml"
    presets = copied(tmp_path, {
        "levers/a.yaml": (twin, {"name: Activation checkpointing": "name: Twin of it"}),
        "levers/z.yaml": (twin, {"name: Activation checkpointing": "name: A twin of it"}),
        "levers/dear.yaml": (twin, {"name: Activation checkpointing": "name: A dear twin", "cost_class: 2": "cost_class: 3"}),
        "options/30_step.yaml": ("options/30_step.yaml", {"  default: 8\n": "  default: 128\n"}),
    })
    expected = decisions(presets, {})
    assert expected["levers_verdict"] == DOES_NOT_FIT
    places = {name: place for name, place in zip(expected["lever_name"], expected["lever_place"]) if place}
    cheaper = [name for name, place in sorted(places.items(), key=lambda item: item[1])]
    assert [name for name in cheaper if "win" in name or "checkpointing" in name] == ["A twin of it", "Activation checkpointing", "Twin of it", "A dear twin"]
    names = [name for name in expected if name.startswith(("lever", "pair", "cheapest", "ranked"))]
    assert not differences(columns_of(presets, names), expected)


# The user's own rows


MODEL = {"name": "My 14B", "family": "Llama", "hidden_size": 5120, "layers": 48, "heads": 40, "kv_heads": 8, "head_dim": 128, "feed_forward": 17_408,
         "vocabulary": 128_256, "parameters": 16_000_000_000, "tied_embeddings": "No", "qkv_bias": "No", "o_bias": "No", "mlp_bias": "No"}
SMALL = MODEL | {"name": "a model", "hidden_size": 512, "layers": 8, "heads": 8, "kv_heads": 8, "head_dim": 64, "feed_forward": 2048, "parameters": 135_000_000}


def own_rows(**tables) -> dict[str, object]:
    """What is typed into the first free rows of the Models and Cards data sheets."""
    counts = {"model": len(PRESETS.models), "card": len(PRESETS.cards)}
    return {f"{prefix}_{name}[{counts[prefix] + number}]": value
            for prefix, rows in tables.items() for number, row in enumerate(rows, 1) for name, value in row.items()}


def test_models_and_cards_of_ones_own_stand_in_the_right_order(book):
    """Beside presets of the same size too, by name; a row that is not complete is left out."""
    l40s = next(card for card in PRESETS.cards if card.name == "L40S")
    alike = {"name": "a card", "memory_mib": l40s.memory.usable_mib, "context_mib": 400}
    largest_card = {"name": "My 1000 GB", "memory_mib": 953_674, "context_mib": 500, "compute_capability": "9.0"}
    typed = own_rows(model=[MODEL, SMALL], card=[alike, alike | {"name": "Z card"}, largest_card, {"name": "No memory", "context_mib": 500}])
    presets = with_own_rows(PRESETS, book.file, {**book.file.constants, **{book.file.cell(name): value for name, value in typed.items()}})
    assert [model.name for model in presets.models[-2:]] == ["My 14B", "a model"] and len(presets.cards) == len(PRESETS.cards) + 3
    job = {"base_model": "My 14B", "gpu_card": "Z card", "batch_size": 4, "activation_checkpointing": "On"}
    expected = decisions(presets, job)
    order = expected["cards_name"]
    assert order.index("a card") + 1 == order.index("L40S") == order.index("Z card") - 1 and order[-1] == "My 1000 GB" == expected["largest_card"]
    assert "My 14B" in expected["takes_lora_model"] and "My 14B" in expected["takes_qlora_model"] and expected["by_name"][-1] == "a model"
    assert not differences(read(book, typed | job, expected), expected)


# Cards without native BF16


def test_cards_without_native_bf16_are_marked_where_the_job_uses_it(book):
    """The Tesla T4 holds the default job, which computes in BF16; a job in FP32 throughout leaves no mark."""
    texts = ["cards_name", "cards_bf16", "cards_sentence", "crossover_sentence"]
    found = read(book, {}, texts)
    marked = {name for name, bf16 in zip(found["cards_name"], found["cards_bf16"]) if bf16 == "no native BF16"}
    assert marked == {card.name for card in PRESETS.cards if not card.native_bf16} and len(marked) >= 5
    assert all("Tesla T4 (no native BF16)" in found[name][0] for name in texts[2:])
    plain = read(book, {"base_storage": "FP32", "compute_precision": "As stored, no autocast", "adapter_dtype": "FP32"}, texts)
    assert set(plain["cards_bf16"]) == {""} and "native BF16" not in plain["cards_sentence"][0]


# The article's example of a base of 70B parameters


def test_a_70b_base_needs_several_cards_in_bf16_and_one_in_nf4(book):
    """In BF16 its weights alone are 137.95 GB; as QLoRA, at 1 x 2,048 under checkpointing, it fits one card of 80 GB, or of 48 GB."""
    examples = {example.name: (number, example.sets) for number, example in enumerate(PRESETS.scenarios)}
    lora, qlora, on_48 = (f"Llama 2 70B {name}, 1 x 2,048, checkpointing{card}" for name, card in (("LoRA", ""), ("QLoRA", ""), ("QLoRA", ", L40S")))
    columns = ("base_gb", "allocated_gb", "total_gb", "capacity_gb", "verdict")
    found = read(book, {}, [f"scenarios_{column}" for column in columns])
    rows = {name: [value if isinstance(value := found[f"scenarios_{column}"][examples[name][0]], str) else round(value, 2) for column in columns]
            for name in (lora, qlora, on_48)}
    assert rows == {
        lora: [137.95, 143.48, 145.32, 84.94, DOES_NOT_FIT],
        qlora: [36.36, 41.86, 44.2, 84.94, FITS],
        on_48: [36.36, 41.81, 44.15, 47.7, FITS],
    }
    cards = read(book, examples[lora][1], ["cards_name", "cards_verdict", "cards_capacity_gb", "method_card"])
    assert {capacity for capacity, verdict in zip(cards["cards_capacity_gb"], cards["cards_verdict"]) if verdict == FITS} == {
        capacity for capacity in cards["cards_capacity_gb"] if capacity != "" and capacity > 146}
    assert cards["method_card"] == ["H200 SXM 141GB", "H200 SXM 141GB", "A40", "RTX A6000"]
    values = estimate(PRESETS, examples[lora][1])
    assert values["gpu_capacity_gb"] < 85 and ceil(values["traced_reserve_bytes"] / values["room_bytes"]) == 2


# The cheapest change


SAVED = r"(.+?)(?: \(([\d,.]+) GB less\))?"
ADVICE = re.compile(rf".*{re.escape(PRESETS.constants['advice_lever'].value)}{SAVED}{re.escape(PRESETS.constants['advice_pair'].value)}{SAVED}\.")


def advice(session, typed) -> re.Match | None:
    """What the answer strip says of the cheapest change."""
    quantities = session.evaluate(typed, ["ledger_advice", "lever_advice"])
    strip = [cell for cell in session.file.formulas if cell.sheet == "Sizing" and cell.row <= 6]
    session.file.names.update({f"strip[{number}]": cell for number, cell in enumerate(strip)})
    shown_texts = session.evaluate(typed, [f"strip[{number}]" for number in range(len(strip))]).values()
    assert quantities["ledger_advice"] + quantities["lever_advice"] in shown_texts
    return ADVICE.fullmatch(quantities["ledger_advice"] + quantities["lever_advice"])


def typed_for(names, typed) -> dict[str, object]:
    """What the named levers type into this job."""
    sized = size(PRESETS, typed)
    return {name: value for lever in PRESETS.levers if lever.name in names for name, value in cheapest_change.typed_by(sized, lever).items()}


@pytest.mark.parametrize("typed, single, pair", [
    ({"batch_size": 58}, "Fused loss", "Expandable segments + Fused loss"),  # TIGHT
    ({"batch_size": 128}, "Activation checkpointing", "Fused loss + Activation checkpointing"),
    ({"base_model": "Llama 2 70B", "batch_size": 1, "sequence_length": 2048, "activation_checkpointing": "On"},
     "NF4 base (QLoRA)", "Expandable segments + NF4 base (QLoRA)"),
])
def test_the_strip_names_the_cheapest_change_and_it_makes_the_job_fit(book, typed, single, pair):
    before = book.evaluate(typed, ["fit_verdict", "total_gb"])
    assert before["fit_verdict"] != FITS
    lever, lever_saved, both, pair_saved = advice(book, typed).groups()
    assert (lever, both) == (single, pair)
    for names, saved in (([lever], lever_saved), (both.split(" + "), pair_saved)):
        after = book.evaluate(typed | typed_for(names, typed), ["fit_verdict", "total_gb"])
        assert after["fit_verdict"] == FITS
        assert f"{before['total_gb'] - after['total_gb']:,.1f}" == saved


def test_the_strip_gives_no_lever_where_the_job_fits_and_says_where_none_helps(book):
    assert advice(book, {}) is None
    hopeless = {"base_model": "Llama 3.1 405B", "gpu_card": "GeForce RTX 3080"}
    assert advice(book, hopeless).groups() == ("none", None, "none", None)


def test_the_cheapest_is_by_class_then_by_what_it_saves_then_by_order():
    def change(row, cost_class, saved, verdict=FITS, alone=0.0):
        return Change(row, f"lever {row}", cost_class, 0.0, saved, 0.0, verdict, alone)

    changes = [change(1, 3, 9.0), change(2, 2, 5.0), change(3, 2, 6.0), change(4, 2, 6.0), change(5, 1, 7.0, DOES_NOT_FIT), change(6, 1, 0.0), change(7, 1, -2.0)]
    assert cheapest_change.places(changes) == [4, 3, 1, 2, 0, 0, 0]
    assert cheapest_change.cheapest("lever", changes, False)["cheapest_lever_note"] == "lever 3 (6.0 GB less)"
    assert cheapest_change.places([change(1, 1, 5.0, alone=5.0), change(2, 4, 5.0, alone=4.9)]) == [0, 1]
    assert cheapest_change.cheapest("pair", [change(1, 1, 5.0, alone=5.0)], False)["cheapest_pair_shown"] == "none"
    assert cheapest_change.cheapest("pair", changes, True)["cheapest_pair_shown"] == "It fits as it is."
