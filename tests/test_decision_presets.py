"""Levers, methods and example scenarios are complete and valid, and one that is not is refused with its place and the nearest valid name."""
from __future__ import annotations

import re
import shutil
from datetime import date

import pytest
import yaml

from builder.blocks.records import get
from builder.decision_schema import COST_LENGTH, NEEDED, SHARED
from builder.presets import ROOT, load
from builder.reference import estimate
from builder.reference.finetune_estimate import ESTIMATE_OUTPUTS
from builder.schema import BOOKS, TITLE_LENGTH
from tests.preset_copies import change, line_of, refused, root  # root is a fixture

BY_BOOK = {book: load(book=book) for book in BOOKS}
PRESETS = BY_BOOK["finetune"]
INPUTS = {item.name: item for item in PRESETS.inputs}
EXAMPLES = {scenario.name: scenario.sets for scenario in PRESETS.scenarios}
LEVERS = {
    "Activation checkpointing": {"activation_checkpointing": "On"}, "Half the batch": {"batch_size": 0.5}, "Half the sequence": {"sequence_length": 0.5},
    "NF4 base (QLoRA)": {"base_storage": "NF4 double-quantised"}, "INT8 base": {"base_storage": "INT8"}, "No k-bit preparation": {"kbit_preparation": "No"},
    "Fused loss": {"loss_kernel": "Fused or chunked"}, "Top half of the layers": {"adapter_top_layers": 0.5}, "Attention only": {"lora_targets": "q, k, v, o"},
    "8-bit Adam": {"optimizer_choice": "8-bit Adam"}, "Expandable segments": {"allocator_mode": "Expandable segments"},
    "Drop the previous output": {"keeps_previous_output": "No"}, "Drop the KV cache": {"keeps_kv_cache": "No"},
}


# What ships


@pytest.mark.parametrize("kind", ["levers", "methods", "scenarios"])
def test_every_file_is_loaded(kind):
    files = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["books"] for path in (ROOT / kind).iterdir()}
    for book, presets in BY_BOOK.items():
        slugs = {item.slug for item in getattr(presets, kind)}
        assert slugs == {slug for slug, books in files.items() if book in books} and all(re.fullmatch(r"[a-z0-9.-]+", slug) for slug in slugs)
    assert all(files.values()) and {book for books in files.values() for book in books} <= set(BOOKS)


@pytest.mark.parametrize("fact", [fact for presets in BY_BOOK.values() for fact in (*presets.levers, *presets.methods, *presets.scenarios)], ids=lambda fact: fact.name)
def test_every_fact_has_a_source_and_a_date(fact):
    assert len(fact.source) > 20 and date(2026, 1, 1) <= fact.date


def test_every_lever_does_what_its_name_says():
    assert {lever.name: {**lever.sets, **lever.shares} for lever in PRESETS.levers} == LEVERS
    for lever in PRESETS.levers:
        assert len(lever.name) <= TITLE_LENGTH and len(lever.cost) <= COST_LENGTH and lever.cost.endswith(".")


def test_levers_are_ordered_from_free_to_another_job():
    order = [(lever.cost_class, lever.name) for lever in PRESETS.levers]
    assert order == sorted(order) and {cost_class for cost_class, _ in order} == {1, 2, 3, 4}


def test_a_share_is_of_a_whole_number_from_one():
    inputs = {name: item for presets in BY_BOOK.values() for item in presets.inputs if (name := item.name) in SHARED}
    assert all((item.kind, item.minimum) == ("whole", 1) for item in inputs.values())
    assert set(inputs) == set(SHARED) and {"batch_size", "sequence_length", "adapter_top_layers"} <= set(SHARED) & set(INPUTS)


def test_a_lever_is_of_inputs_of_every_book_that_it_names():
    for presets in BY_BOOK.values():
        names = {item.name for item in presets.inputs}
        assert all({*lever.sets, *lever.shares} <= names for lever in presets.levers)


def test_what_an_example_needs_are_inputs_of_its_book():
    assert set(NEEDED) == set(BOOKS)
    for book, presets in BY_BOOK.items():
        assert set(NEEDED[book]) <= {item.name for item in presets.inputs}
        assert all(set(NEEDED[book]) <= set(scenario.sets) for scenario in presets.scenarios)


def test_methods_are_in_order_and_set_the_same_inputs():
    assert [(method.name, *method.sets.values()) for method in PRESETS.methods] == [
        ("LoRA (BF16)", "BF16", "No"), ("LoRA on INT8", "INT8", "No"),
        ("QLoRA", "NF4 double-quantised", "No"), ("QLoRA, k-bit prepared", "NF4 double-quantised", "Yes"),
    ]
    assert {tuple(method.sets) for method in PRESETS.methods} == {("base_storage", "kbit_preparation")}


def test_a_table_shows_what_a_record_sets_by_its_path():
    lever = next(lever for lever in PRESETS.levers if lever.name == "INT8 base")
    assert (get(lever, "sets.base_storage"), get(lever, "sets.batch_size"), get(lever, "shares.batch_size")) == ("INT8", None, None)
    assert get(PRESETS.methods[0], "sets.base_storage") == "BF16" and get(PRESETS.scenarios[0], "sets.gpu_card") == "H100 SXM 80GB"


def test_examples_are_in_the_order_of_their_files_and_rows():
    assert len(EXAMPLES) == len(PRESETS.scenarios) <= 17
    assert [*EXAMPLES][::16] == ["TinyLlama 1.1B, 8 x 512", "Llama 2 70B QLoRA, 1 x 2,048, checkpointing, L40S"]
    assert [scenario.slug for scenario in PRESETS.scenarios] == ["article-tinyllama-1.1b"] * 14 + ["llama-2-70b"] * 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_leaves_nothing_to_the_sizing_sheet(name):
    sets = EXAMPLES[name]
    with_meaning = {item.name for item in PRESETS.inputs if item.default is not None}
    assert set(sets) == with_meaning | {"adapter_top_layers"} > set(NEEDED["finetune"])
    assert estimate(PRESETS, sets)["input_message"] == ""


def test_examples_say_what_their_names_say():
    for name, sets in EXAMPLES.items():
        words = name.split(", ", 1)[1]
        batch, length = re.match(r"(\d+) x ([\d,]*\d)", words).groups()
        assert name.startswith(sets["base_model"])
        assert (sets["batch_size"], sets["sequence_length"]) == (int(batch), int(length.replace(",", "")))
        assert (sets["activation_checkpointing"] == "On") == ("checkpointing" in words)
        assert (sets["base_storage"] == "INT8", "NF4" in sets["base_storage"]) == ("INT8" in words, "NF4" in words or "QLoRA" in name)
        upper = re.search(r"upper (\d+)", words)
        assert sets["adapter_top_layers"] == (int(upper[1]) if upper else {"TinyLlama 1.1B": 22, "Llama 2 70B": 80}[sets["base_model"]])
        assert (sets["gpu_card"] == "L40S") == ("L40S" in words)


def test_all_layers_by_number_are_all_layers():
    for name in ("TinyLlama 1.1B, 8 x 512", "Llama 2 70B QLoRA, 1 x 2,048, checkpointing"):
        by_number, by_blank = (estimate(PRESETS, EXAMPLES[name] | typed) for typed in ({}, {"adapter_top_layers": None}))
        assert {key: by_number[key] for key in ESTIMATE_OUTPUTS} == {key: by_blank[key] for key in ESTIMATE_OUTPUTS}


def test_the_examples_that_the_article_measured_have_its_figures():
    columns = ("base_model", "base_storage", "lora_rank", "adapter_top_layers", "batch_size", "sequence_length", "optimizer_choice", "activation_checkpointing")
    published = {tuple(row[column] or 22 for column in columns): row["published_total_gb"] for row in PRESETS.measured["h100-lora"].rows}
    found = {tuple(sets[column] for column in columns): estimate(PRESETS, sets)["article_total_gb"] for sets in EXAMPLES.values()}
    shared = published.keys() & found.keys()
    assert len(shared) == 8
    assert {key: published[key] for key in shared} == pytest.approx({key: found[key] for key in shared}, abs=0.0002)


# What is refused


LEVER, SHARE, TOP = (f"levers/{name}.yaml" for name in ("activation-checkpointing", "half-the-batch", "top-half-of-the-layers"))
LORA, QLORA = "methods/lora-bf16.yaml", "methods/qlora.yaml"
TINY, LARGE = "scenarios/article-tinyllama-1.1b.yaml", "scenarios/llama-2-70b.yaml"
SETS, SHARES = 'sets: {activation_checkpointing: "On"}', "shares: {batch_size: 0.5}"

# file, old text, new text, text on the line that the error names, what the message says
BAD = {
    "unknown key of a lever": (LEVER, "cost_class:", "cost_clas:", "cost_clas:", "unknown key 'cost_clas'; did you mean 'cost_class'?"),
    "lever without a class": (SHARE, "cost_class: 2\n", "", "books:", "the key 'cost_class' is missing"),
    "class above 4": (LEVER, "cost_class: 2", "cost_class: 5", "cost_class", "cost_class: 5 should be less than or equal to 4"),
    "class 0": (LEVER, "cost_class: 2", "cost_class: 0", "cost_class", "cost_class: 0 should be greater than or equal to 1"),
    "long name": (LEVER, "name: Activation checkpointing", f"name: Activation checkpointing {'x' * 10}", "name:", "should have at most 32 characters"),
    "long cost": (LEVER, 'cost: "', f'cost: "{"x" * 110}', "cost: ", "should have at most 110 characters"),
    "empty cost": (LEVER, 'cost: "', 'cost: " " # "', "cost: ", "cost: ' ' is empty"),
    "empty source": (LEVER, "source: '", "source: '' # '", "source", "source: '' is empty"),
    "wildcard in a name": (LEVER, "name: Activation", "name: Activation*", "name:", "must not contain *"),
    "taken name": (LEVER, "name: Activation checkpointing", "name: attention only", "name:", "the name 'Attention only' is taken as 'attention only', which differs in case only, at "),
    "lever of an input that is not there": (LEVER, SETS, 'sets: {activation_checkpoint: "On"}', "sets:",
                                            "sets: no input is called 'activation_checkpoint'; did you mean 'activation_checkpointing'?"),
    "lever that types no choice": (LEVER, SETS, "sets: {base_storage: NF4 double-quantized}", "sets:",
                                   "base_storage: 'NF4 double-quantized' is not one of the choices; did you mean 'NF4 double-quantised'?"),
    "lever that types a choice in another case": (LEVER, SETS, "sets: {kbit_preparation: no k}", "sets:", "kbit_preparation: 'no k' is not one of the choices; did you mean 'No'?"),
    "word that YAML may take for a boolean": (LEVER, SETS, "sets: {activation_checkpointing: On}", "sets:", "On is a boolean to some readers"),
    "boolean for a choice": (LEVER, SETS, "sets: {activation_checkpointing: true}", "sets:", "activation_checkpointing: true is not text; quote it"),
    "number for a choice": (LEVER, SETS, "sets: {activation_checkpointing: 1}", "sets:", "activation_checkpointing: 1 is not one of the choices"),
    "lever beyond a bound": (LEVER, SETS, "sets: {lora_rank: 0}", "sets:", "lora_rank: 0 is out of bounds; expected minimum 1, maximum 4096"),
    "lever that types text for a number": (LEVER, SETS, "sets: {lora_rank: eight}", "sets:", "lora_rank: 'eight' is not a whole number"),
    "lever that types a fraction for a whole number": (LEVER, SETS, "sets: {lora_rank: 0.5}", "sets:", "lora_rank: 0.5 is not a whole number"),
    "lever that changes nothing": (LEVER, f"{SETS}\n", "", "books:", "no sets or shares: 'Activation checkpointing' changes nothing"),
    "lever with empty parts": (LEVER, SETS, "sets: {}\nshares: {}", "books:", "no sets or shares: 'Activation checkpointing' changes nothing"),
    "lever that types an input of which it takes a share": (SHARE, SHARES, f"sets: {{batch_size: 4}}\n{SHARES}", "shares:",
                                                            "shares: 'batch_size' stands under sets as well; one of them"),
    "lever of an unknown book": (LEVER, "books: [finetune", "books: [fine-tune", "books:", "books: 'fine-tune' is not one of finetune, training, inference; did you mean 'finetune'?"),
    "method of an unknown book": (LORA, "books: [finetune]", "books: [finetun]", "books:", "books: 'finetun' is not one of finetune, training, inference; did you mean 'finetune'?"),
    "examples of an unknown book": (TINY, "books: [finetune]", "books: [lora]", "books:", "books: 'lora' is not one of finetune, training, inference"),
    "lever of no book": (SHARE, "books: [finetune]", "books: []", "books:", "books: [] should have at least 1 item"),
    "lever without books": (SHARE, "books: [finetune]\n", "", "name:", "the key 'books' is missing"),
    "method without books": (QLORA, "books: [finetune]\n", "", "name:", "the key 'books' is missing"),
    "examples without books": (LARGE, "books: [finetune]\n", "", "# A base", "the key 'books' is missing"),
    "share of a number that stays": (SHARE, SHARES, "shares: {lora_rank: 0.5}", "shares:",
                                     "shares: 'lora_rank' is not one of batch_size, sequence_length, adapter_top_layers"),
    "share of another book's input": (SHARE, SHARES, "shares: {prompt_tokens: 0.5}", "shares:",
                                      "shares: 'prompt_tokens' is not one of batch_size, sequence_length, adapter_top_layers"),
    "share of a misspelt input": (SHARE, SHARES, "shares: {batchsize: 0.5}", "shares:", "; did you mean 'batch_size'?"),
    "share of all": (SHARE, SHARES, "shares: {batch_size: 1}", "shares:", "batch_size: 1 should be less than 1"),
    "share of nothing": (SHARE, SHARES, "shares: {batch_size: 0}", "shares:", "batch_size: 0 should be greater than 0"),
    "share that is text": (TOP, "adapter_top_layers: 0.5", "adapter_top_layers: half", "shares:", "adapter_top_layers: 'half' should be a valid number"),
    "method without an order": (QLORA, "order: 30\n", "", "books:", "the key 'order' is missing"),
    "method that types no choice": (QLORA, "base_storage: NF4 double-quantised", "base_storage: NF5", "sets:", "base_storage: 'NF5' is not one of the choices; did you mean 'NF4'?"),
    "method with an input too many": (QLORA, "sets: {", "sets: {lora_rank: 8, ", "sets:", "sets: lora_rank, but 'LoRA (BF16)' sets base_storage, kbit_preparation"),
    "method with an input too few": (QLORA, ', kbit_preparation: "No"', "", "sets:", "sets: kbit_preparation is missing, which 'LoRA (BF16)' sets"),
    "method that sets nothing": (LORA, 'sets: {base_storage: BF16, kbit_preparation: "No"}', "sets: {}", "sets:", "sets: empty; 'LoRA (BF16)' sets nothing"),
    "method of a taken name": (QLORA, "name: QLoRA", "name: lora on int8", "name:", "the name 'lora on int8' is taken as 'LoRA on INT8', which differs in case only, at "),
    "example of a model that is not there": (LARGE, "base_model: Llama 2 70B", "base_model: Llama 2 70", "base_model", "base_model: 'Llama 2 70' is not one of the choices; did you mean 'Llama 2 70B'?"),
    "example of a card that is not there": (LARGE, "sets: {gpu_card: L40S}", "sets: {gpu_card: L40SX}", "L40SX", "gpu_card: 'L40SX' is not one of the choices; did you mean 'L40S'?"),
    "example of an input that is not there": (TINY, "sets: {batch_size: 48}", "sets: {batch: 48}", "{batch: 48}", "sets: no input is called 'batch'; did you mean 'batch_size'?"),
    "common input that is not there": (TINY, "  lora_rank: 8", "  lora_ranks: 8", "lora_ranks", "common: no input is called 'lora_ranks'; did you mean 'lora_rank'?"),
    "example beyond a bound": (TINY, "sets: {batch_size: 48}", "sets: {batch_size: 0}", "{batch_size: 0}", "batch_size: 0 is out of bounds; expected minimum 1, maximum 1000000"),
    "example deeper than its model": (TINY, "sets: {adapter_top_layers: 11}", "sets: {adapter_top_layers: 23}", "{adapter_top_layers: 23}",
                                      "adapter_top_layers: 23 is out of bounds; 'TinyLlama 1.1B' has 22 layers"),
    "common depth beyond the model": (TINY, "  adapter_top_layers: 22", "  adapter_top_layers: 23", "  adapter_top_layers: 23", "adapter_top_layers: 23 is out of bounds"),
    "common depth beyond the layers of a row": (LARGE, "sets: {gpu_card: L40S}", "sets: {gpu_card: L40S, layers_override: 40}", "  adapter_top_layers: 80",
                                                "adapter_top_layers: 80 is out of bounds; 'Llama 2 70B' has 40 layers"),
    "example without a card": (LARGE, "  gpu_card: H100 SXM 80GB\n", "", "{base_storage: BF16}", "sets: gpu_card is missing; an example must not move with the Sizing sheet"),
    "example without sets or a card": (TINY, "  gpu_card: H100 SXM 80GB\n", "", "- name: TinyLlama 1.1B, 8 x 512", "sets: gpu_card is missing; "),
    "examples of one name": (TINY, "- name: TinyLlama 1.1B, 48 x 512", "- name: TinyLlama 1.1B, 8 x 512", "- name: TinyLlama 1.1B, 8 x 512\n  sets: {batch_size: 48}",
                             "the name 'TinyLlama 1.1B, 8 x 512' is taken at "),
    "example of a long name": (TINY, "- name: TinyLlama 1.1B, 48 x 512", f"- name: TinyLlama 1.1B, 48 x 512 {'x' * 40}", "48 x 512", "should have at most 60 characters"),
    "unknown key of an example": (TINY, "  sets: {batch_size: 48}", "  set: {batch_size: 48}", "  set:", "unknown key 'set'; did you mean 'sets'?"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_line_is_named(root, name):
    file, old, new, on_line, says = BAD[name]
    path = root / file
    change(path, old, new)
    error = refused(root)
    assert says in str(error)
    assert error.exit_code == 2
    assert str(error).startswith(f"{error.path}:{error.line}:{error.column}: ")
    if name == "taken name":  # the later file is at fault
        path = root / "levers" / "attention-only.yaml"
    text = path.read_text(encoding="utf-8")
    assert (error.path, error.line) == (path, text[: text.index(on_line)].count("\n") + 1)


def test_the_column_is_that_of_the_input(root):
    path = root / LEVER
    change(path, SETS, 'sets: {lora_rank: 8, activation_checkpointing: "Onn"}')
    error = refused(root)
    assert (error.line, error.column) == (line_of(path, "sets:"), len("sets: {lora_rank: 8, ") + 1)


def test_two_files_of_examples_share_no_name(root):
    change(root / LARGE, "- name: Llama 2 70B QLoRA, 1 x 2,048, checkpointing\n", "- name: tinyllama 1.1B, 8 x 512\n")
    error = refused(root)
    assert (error.path, error.line) == (root / LARGE, line_of(root / LARGE, "- name: tinyllama"))
    assert f"taken as 'TinyLlama 1.1B, 8 x 512', which differs in case only, at {root / TINY}:" in error.message


# What attaches itself


def test_a_new_lever_method_or_example_is_a_new_file(root):
    shutil.copy(root / LEVER, root / "levers" / "new.yaml")
    change(root / "levers" / "new.yaml", "name: Activation checkpointing", "name: A new lever")
    shutil.copy(root / LORA, root / "methods" / "a-new-one.yaml")
    change(root / "methods" / "a-new-one.yaml", "name: LoRA (BF16)\norder: 10", "name: A new method\norder: 50")
    shutil.copy(root / LARGE, root / "scenarios" / "new.yaml")
    text = (root / "scenarios" / "new.yaml").read_text(encoding="utf-8")
    (root / "scenarios" / "new.yaml").write_text(text.replace("- name: Llama 2 70B", "- name: New"), encoding="utf-8")
    presets = load(root)
    assert [lever.name for lever in presets.levers if lever.cost_class == 2] == ["A new lever", "Activation checkpointing", "Half the batch"]
    assert presets.methods[-1].name == "A new method"
    assert [scenario.name.split()[0] for scenario in presets.scenarios[-3:]] == ["New"] * 3
    assert presets.digest != PRESETS.digest


def test_a_lever_may_type_one_input_and_take_a_share_of_another(root):
    change(root / SHARE, SHARES, f'sets: {{activation_checkpointing: "On"}}\n{SHARES}')
    presets = load(root)
    lever = next(lever for lever in presets.levers if lever.slug == "half-the-batch")
    assert (lever.sets, lever.shares) == ({"activation_checkpointing": "On"}, {"batch_size": 0.5})
    pairs = {pair["name"] for pair in presets.pairs if "Half the batch" in pair["name"]}
    assert {"Half the batch + Half the sequence"} <= pairs and not any("Activation checkpointing" in name for name in pairs)


def test_a_lever_stands_in_the_books_that_it_names_and_of_their_inputs(root):
    name = "Half the batch"
    change(root / SHARE, "books: [finetune]", "books: [training]")
    assert {book: name in [lever.name for lever in load(root, book).levers] for book in ("finetune", "training")} == {"finetune": False, "training": True}
    change(root / SHARE, "books: [training]", "books: [finetune, inference]")
    error = refused(root, "inference")
    assert (error.path, error.line) == (root / SHARE, line_of(root / SHARE, "shares:")) and "shares: 'batch_size' is not one of prompt_tokens" in error.message
    assert name in [lever.name for lever in load(root).levers]


def test_an_example_needs_what_its_book_needs(root):
    """Every book has its own list of inputs that an example must name."""
    path = root / "scenarios" / "new.yaml"
    path.write_text("books: [training]\nrows:\n- name: New\n  sets: {base_model: Llama 3.2 1B}\nsource: a test of what an example needs\ndate: 2026-11-30\n", encoding="utf-8")
    error = refused(root, "training")
    assert error.path == path and error.line == 4 and "sets: storage_precision is missing" in error.message
    assert all(name in error.message for name in NEEDED["training"]) and "lora_rank" not in error.message
    assert load(root).scenarios == PRESETS.scenarios


def test_a_row_goes_before_what_its_file_has_in_common():
    assert EXAMPLES["TinyLlama 1.1B, 48 x 512"]["batch_size"] == 48 and EXAMPLES["TinyLlama 1.1B, 8 x 512"]["batch_size"] == 8


def test_presets_without_decisions_load(root):
    for kind in ("levers", "methods", "scenarios"):
        shutil.rmtree(root / kind)
    presets = load(root)
    assert (presets.levers, presets.methods, presets.scenarios) == ((), (), ())
