"""The shipped presets are complete and right, and a preset that is not is refused with its place and the nearest valid name."""
from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
import yaml

from builder.errors import nearest
from builder.presets import ROOT, Presets, load
from builder.reference import estimate
from builder.schema import BOOKS
from tests.preset_copies import change, line_of, refused, root  # root is a fixture

DATA = Path(__file__).parent / "data"
BY_BOOK = {book: load(book=book) for book in BOOKS}
PRESETS = BY_BOOK["finetune"]
MODELS = {model.slug: model for model in PRESETS.models}
CARDS = {card.slug: card for card in PRESETS.cards}
with open(DATA / "parameter-counts.csv", newline="", encoding="utf-8") as _file:
    COUNTS = {row["id"]: row for row in csv.DictReader(_file)}


# What ships


def slugs(presets: Presets, kind: str) -> list[str]:
    """What was loaded from a folder, by the names of the files."""
    found = getattr(presets, kind)
    return sorted(found if isinstance(found, Mapping) else {item.slug for item in found})


def files(kind: str, book: str) -> list[str]:
    """The files of a folder that are for a book: those that name it, and those that name none."""
    return sorted(path.stem for path in (ROOT / kind).glob("*.yaml") if book in yaml.safe_load(path.read_text(encoding="utf-8")).get("books", BOOKS))


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("kind", ["models", "cards", "families", "measured"])
def test_every_file_is_loaded_and_keyed_by_its_name(kind, book):
    assert slugs(BY_BOOK[book], kind) == files(kind, book)


@pytest.mark.parametrize("kind", ["models", "cards", "families", "measured"])
def test_no_file_is_left_out_of_every_book(kind):
    loaded = {slug for presets in BY_BOOK.values() for slug in slugs(presets, kind)}
    assert loaded == {path.stem for path in (ROOT / kind).iterdir()}
    assert len(MODELS) >= 65 and len(CARDS) >= 44


def test_a_model_that_is_trained_in_full_only_is_offered_in_that_book_only():
    """The article's encoder has no class in transformers, so nothing fine-tunes or serves it."""
    offered = {book: "Article encoder 1B" in [model.name for model in presets.models] for book, presets in BY_BOOK.items()}
    assert offered == {"finetune": False, "training": True, "inference": False}
    assert {book: "encoder" in presets.families for book, presets in BY_BOOK.items()} == offered
    assert slugs(BY_BOOK["inference"], "models") == slugs(PRESETS, "models") == sorted({*slugs(BY_BOOK["training"], "models")} - {"article-encoder"})


@pytest.mark.trace
def test_the_encoder_has_the_parameters_of_its_modules():
    """On the meta device: an embedding, layers of torch with their norms first, an output head; the positions are no parameter."""
    import torch

    model = next(model for model in BY_BOOK["training"].models if model.slug == "article-encoder")
    shape = model.shape
    with torch.device("meta"):
        layer = torch.nn.TransformerEncoderLayer(shape.hidden_size, shape.heads, shape.feed_forward, norm_first=True, batch_first=True)
        ends = torch.nn.Embedding(shape.vocabulary, shape.hidden_size), torch.nn.Linear(shape.hidden_size, shape.vocabulary)
    counted = [sum(weight.numel() for weight in module.parameters()) for module in (layer, *ends)]
    family = BY_BOOK["training"].families["encoder"]
    assert shape.layers * counted[0] + sum(counted[1:]) == model.parameters.value == model.parameters_from_shape(family)


def test_the_default_of_an_input_is_that_of_the_book():
    defaults = {book: {item.name: item.default for item in presets.inputs} for book, presets in BY_BOOK.items()}
    assert {book: found["base_model"] for book, found in defaults.items()} == {
        "finetune": "TinyLlama 1.1B", "training": "Article encoder 1B", "inference": "Llama 3.1 8B"}
    assert [(defaults[book]["batch_size"], defaults[book]["sequence_length"]) for book in ("finetune", "training")] == [(8, 512), (256, 100)]
    assert {found["gpu_card"] for found in defaults.values()} == {"H100 SXM 80GB"}, "without one of its own, the common default"


def test_an_input_may_be_another_one_in_another_book():
    optimizers = {book: {item.name: item for item in BY_BOOK[book].inputs}["optimizer_choice"] for book in ("finetune", "training")}
    assert (optimizers["finetune"].step, optimizers["training"].step) == (3, 2)
    assert {choice.name for choice in optimizers["training"].choices} - {choice.name for choice in optimizers["finetune"].choices} == {"SGD momentum", "Adafactor"}
    assert "lora_rank" not in [item.name for item in BY_BOOK["training"].inputs] and "storage_precision" not in [item.name for item in PRESETS.inputs]


@pytest.mark.parametrize("slug", sorted(COUNTS))
def test_shape_and_count_are_those_of_the_modules(slug):
    model, row = MODELS[slug], COUNTS[slug]
    shape = model.shape
    assert model.hub_id == row["hf_repo"]
    columns = {"hidden": shape.hidden_size, "layers": shape.layers, "heads": shape.heads, "kv_heads": shape.kv_heads,
               "head_dim": shape.head_dim, "ffn": shape.feed_forward, "vocab": shape.vocabulary, "tied": int(shape.tied_embeddings)}
    assert columns == {column: int(row[column]) for column in columns}
    assert model.parameters.value == model.parameters_from_shape(PRESETS.families[model.family]) == int(row["total"])
    assert model.parameters.published == bool(row["published"])
    published = model.parameters.published_value or model.parameters.value
    if row["published"]:
        assert published == int(row["published"])
    assert (published != model.parameters.value) == (slug in ("smollm3-3b", "granite-3-8b", "falcon-7b"))


@pytest.mark.parametrize("slug", sorted(COUNTS))
def test_adapter_counts_are_those_of_peft(slug):
    """On transformers 5, which holds the experts of a layer as one tensor."""
    for targets, column in {"q, v": "qv", "q, k, v, o": "qkvo", "All linear": "all_linear"}.items():
        for rank in (8, 16):
            found = estimate(PRESETS, {"base_model": MODELS[slug].name, "lora_targets": targets, "lora_rank": rank})
            assert found["trainable_parameters"] == int(COUNTS[slug][f"lora_r{rank}_{column}"]), targets


def test_every_shipped_model_has_counts_to_compare_with():
    assert sorted(MODELS) == sorted(COUNTS)
    others = {model.slug for presets in BY_BOOK.values() for model in presets.models} - COUNTS.keys()
    assert others == {"article-encoder"}, "which is counted above"


def test_widths_follow_head_dim_and_not_hidden_size():
    nemo = MODELS["mistral-nemo-12b"]
    assert (nemo.shape.hidden_size, nemo.q_width, nemo.kv_width) == (5120, 4096, 1024)


def facts(presets: Presets) -> list[tuple[str, object]]:
    """Everything that has a source and a date."""
    found: list[tuple[str, object]] = []
    for model in presets.models:
        found += [(f"{model.slug} shape", model.shape), (f"{model.slug} parameters", model.parameters)]
    for card in presets.cards:
        parts = {"memory": card.memory, "context": card.context, "other ECC": card.memory.other_ecc, "Windows": card.memory.windows,
                 "bandwidth": card.bandwidth, "instances": card.instances}
        found += [(f"{card.slug} {what}", part) for what, part in parts.items() if part]
    for kind in ("families", "choices", "constants", "measured"):
        found += [(f"{kind} {name}", item) for name, item in getattr(presets, kind).items()]
    return found + [(item.name, item) for item in (*presets.inputs, *presets.rules)]


@pytest.mark.parametrize(("name", "fact"), [(f"{book} {name}", fact) for book, presets in BY_BOOK.items() for name, fact in facts(presets)], ids=lambda value: value if isinstance(value, str) else "")
def test_every_fact_has_a_source_and_a_date(name, fact):
    assert len(fact.source) > 5, name
    assert date(2026, 1, 1) <= fact.date, name


def test_slugs_are_slugs():
    for slug in {slug for presets in BY_BOOK.values() for kind in ("models", "cards", "families", "measured") for slug in slugs(presets, kind)}:
        assert re.fullmatch(r"[a-z0-9.-]+", slug)


def test_an_estimate_says_how_it_was_made_and_only_an_estimate_does():
    for card in PRESETS.cards:
        assert card.memory.estimate == card.memory.basis.startswith("ESTIMATE: "), card.slug
    assert {card.slug for card in PRESETS.cards if card.memory.estimate} == {"apple-silicon", "rtx-5000-ada", "rtx-5070-ti"}


def test_an_uncited_capacity_names_a_citable_figure_where_there_is_one():
    uncited = {card.slug for card in PRESETS.cards if "not recorded" in card.memory.source}
    named = {slug for slug in uncited if "GitHub issue" in CARDS[slug].memory.basis}
    assert named == {"a100-40gb", "a40", "h200-141gb", "rtx-3060-12gb", "rtx-3080-10gb", "rtx-a5000", "v100-16gb"}
    assert len(uncited - named) == 12


def test_gddr6_with_ecc_knows_the_other_setting_and_no_other_card_does():
    with_ecc = {card.slug for card in PRESETS.cards if card.memory.type == "GDDR6" and card.segment != "consumer"}
    assert {card.slug for card in PRESETS.cards if card.memory.other_ecc} == with_ecc
    assert {card.slug for card in PRESETS.cards if card.memory.other_ecc and card.memory.other_ecc.state == "ECC on"} == {
        "rtx-4000-ada", "rtx-5000-ada", "rtx-a4000", "rtx-a5000", "rtx-a6000"}


def test_only_unified_memory_lacks_a_bandwidth():
    assert {card.slug for card in PRESETS.cards if card.bandwidth is None} == {"apple-silicon"}


def test_cards_before_ampere_lack_bf16():
    assert {card.slug for card in PRESETS.cards if not card.native_bf16} == {"p100-16gb", "rtx-2080-ti", "t4", "v100-16gb", "v100-32gb"}


def test_only_two_contexts_are_measured():
    assert {card.slug: card.context.mib for card in PRESETS.cards if not card.context.estimate} == {"h100-sxm-80gb": 572, "t4": 141}
    assert {card.context.mib for card in PRESETS.cards if card.context.estimate} == {572}


def test_usable_memory_is_within_what_the_card_is_sold_with():
    for card in PRESETS.cards:
        least = 0.6 if card.segment == "unified" else 0.9
        assert least <= card.memory.usable_mib / (card.memory.marketing_gb * 1024) <= 1, card.slug


def test_the_order_is_that_of_the_dropdowns():
    brands = [(re.match("[a-z]*", m.name.casefold())[0], m.parameters.value, m.name) for m in PRESETS.models]
    assert brands == sorted(brands) and [name for _, _, name in brands][:4] == ["CodeLlama 34B", "DeepSeek-Coder-1.3B", "Falcon 7B", "Gemma 3 1B"]
    assert [(c.memory.usable_mib, c.name) for c in PRESETS.cards] == sorted((c.memory.usable_mib, c.name) for c in PRESETS.cards)
    assert [(i.step, i.order) for i in PRESETS.inputs] == sorted((i.step, i.order) for i in PRESETS.inputs)


def test_a_shared_list_gives_its_choices_to_every_input_that_names_it():
    inputs = {item.name: item for item in PRESETS.inputs}
    shared, own, number = inputs["target_q"], inputs["base_storage"], inputs["lora_rank"]
    assert (shared.choices_name, [choice.name for choice in shared.choices]) == ("yes_no", ["No", "Yes"])
    assert PRESETS.choices["yes_no"].rows == [{"name": "No", "is_yes": 0}, {"name": "Yes", "is_yes": 1}]
    assert (own.choices_name, own.choices) == ("base_storage", PRESETS.choices["base_storage"].choices)
    assert number.choices_name is None and number.choices is None


def test_presets_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        PRESETS.models[0].name = "other"


# Measured runs


def original_cell(column: str, row: dict[str, str]) -> str:
    """The cell of the published table that a row of public names stands for."""
    renamed = {
        "rank": "lora_rank", "batch": "batch_size", "seq": "sequence_length", "frozen_params": "frozen_parameters", "trainable_params": "trainable_parameters",
        "outcome": "measured_outcome", "peak_allocated_gb": "measured_peak_allocated_gb", "peak_reserved_gb": "measured_peak_reserved_gb",
        "peak_forward_gb": "measured_peak_forward_gb", "allocated_after_load_gb": "measured_after_load_gb",
        "allocated_after_first_step_gb": "measured_after_first_step_gb", "frozen_bytes": "measured_frozen_base_bytes",
        "adapter_bytes": "measured_adapter_weights_bytes", "gradient_bytes": "measured_gradients_bytes", "optimizer_bytes": "measured_optimizer_states_bytes",
        "step_ms_median": "measured_step_ms", "article_frozen_gb": "published_frozen_base_gb", "article_adapter_gb": "published_adapter_weights_gb",
        "article_optimizer_gb": "published_optimizer_states_gb", "article_cache_gb": "published_autocast_cache_gb",
        "base_storage": "base_storage", "targets": "lora_targets", "adapter_layers": "adapter_top_layers", "precision": "compute_precision",
        "optimizer": "optimizer_choice", "checkpointing": "activation_checkpointing",
    }
    meaning = {
        "base_storage": {"BF16": "bf16", "FP32": "fp32"},
        "targets": {"All linear": "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj"},
        "adapter_layers": {"": "all", **{str(top): f"upper-{top}" for top in (3, 6, 11)}},
        "precision": {"BF16 mixed precision": "amp_bf16"},
        "optimizer": {"Adam": "adam", "8-bit Adam": "adam8bit"},
        "checkpointing": {"Off": "false", "On": "true"},
        "article_oom": {"no": "false", "yes": "true"},
    }
    name = renamed.get(column, column.replace("article_", "published_"))
    return meaning[column][row[name]] if column in meaning else row[name]


def test_the_published_runs_lose_nothing_by_their_public_names():
    with open(DATA / "h100-lora.csv", newline="", encoding="utf-8") as file:
        originals = list(csv.DictReader(file))
    with open(ROOT / "measured" / "h100-lora.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == [str(number) for number in range(1, 26)]
    assert {(row["base_model"], row["gpu_card"]) for row in rows} == {("TinyLlama 1.1B", "H100 SXM 80GB")}
    assert [{column: original_cell(column, row) for column in originals[0]} for row in rows] == originals


def test_measured_cells_are_numbers_where_their_column_is():
    rows = PRESETS.measured["h100-lora"].rows
    assert (rows[0]["published_optimizer_states_gb"], rows[0]["lora_rank"], rows[0]["lever_value"]) == (0.0505, 8, "baseline")
    assert [row["measured_peak_allocated_gb"] for row in rows if row["measured_outcome"] == "oom"] == [None, None]
    assert [row["adapter_top_layers"] for row in rows[15:19]] == [None, 11, 6, 3]
    assert rows[1]["lever_value"] == "4", "a column with any text is text"


# What is refused


MODEL, CARD, FAMILY = "models/tinyllama-1.1b.yaml", "cards/h100-sxm-80gb.yaml", "families/llama.yaml"
WINDOW, PHI, FUSED = "models/mistral-7b-v0.1.yaml", "models/phi-4-mini.yaml", "families/phi3.yaml"
MOE, POSITIONS, OTHER_COUNT = "models/mixtral-8x7b.yaml", "models/gpt2.yaml", "models/falcon-7b.yaml"
CHOSEN, BASE, ADAPTERS, STEP, CARD_INPUTS = (f"options/{name}.yaml" for name in ("05_model", "10_base", "20_adapters", "30_step", "40_card"))
CONSTANTS = "constants.yaml"
ECC_OFF, ECC_ON, WINDOWS, AMD = (f"cards/{slug}.yaml" for slug in ("t4", "rtx-a6000", "rtx-4090", "mi300x-192gb"))

# file, old text, new text, text on the line that the error names (None: the new text), what the message says
BAD = {
    "unknown key": (MODEL, "  layers: 22", "  layer: 22", None, "unknown key 'layer'; did you mean 'layers'? (and 1 more in this file)"),
    "unknown key at the top": (MODEL, "hub_id:", "hubid:", None, "unknown key 'hubid'; did you mean 'hub_id'?"),
    "unknown key like no other": (MODEL, "hub_id: ", "zzz: 1\nhub_id: ", "zzz", "unknown key 'zzz'; expected one of name, family, hub_id, books, shape, parameters, sliding_window, full_attention_every, rotary_share, notes"),
    "missing key": (MODEL, "  kv_heads: 4\n", "", "shape:", "the key 'kv_heads' is missing"),
    "model in another model's file": (MODEL, "name: TinyLlama 1.1B\nfamily: llama\nhub_id: TinyLlama/TinyLlama-1.1B-Chat-v1.0", "name: Small 2B\nfamily: llama\nhub_id: me/Small-2B", "name: Small",
                                      "name: 'Small 2B' does not go with the file name 'tinyllama-1.1b', whose 'tinyllama' is not in 'Small 2B' or 'me/Small-2B'"),
    "card in another card's file": (CARD, "name: H100 SXM 80GB", "name: H200", None, "name: 'H200' does not go with the file name 'h100-sxm-80gb', whose 'h100' is not in"),
    "unknown family": (MODEL, "family: llama", "family: lama", None, "family: 'lama' is not one of falcon, gemma2, gemma3, gpt-neox, gpt-oss, gpt2, granite, llama, mistral, mixtral, olmo2, phi3, qwen2, qwen3-moe, qwen3, smollm3, starcoder2; did you mean 'llama'?"),
    "text for a number": (MODEL, "layers: 22", "layers: 'twenty'", None, "layers: 'twenty' should be a valid integer"),
    "fraction for a count": (MODEL, "layers: 22", "layers: 22.5", None, "layers: 22.5 should be a valid integer"),
    "zero layers": (MODEL, "layers: 22", "layers: 0", None, "layers: 0 should be greater than or equal to 1"),
    "number for a flag": (MODEL, "tied_embeddings: false", "tied_embeddings: 0", None, "tied_embeddings: 0 should be a valid boolean"),
    "word for a flag": (MODEL, "tied_embeddings: false", "tied_embeddings: No", None, "No is a boolean to some readers"),
    "number for a text": (MODEL, "name: TinyLlama 1.1B", "name: 1.1", None, "name: 1.1 is not text; quote it"),
    "exponent": (MODEL, "value: 1100048384", "value: 1e9", None, "1e9 has an exponent"),
    "heads not a multiple": (MODEL, "kv_heads: 4", "kv_heads: 5", None, "kv_heads: 5 does not divide heads, 32; expected a divisor of 32"),
    "another count": (MODEL, "value: 1100048384", "value: 1100048385", None,
                      "value: 1100048385 parameters, but the shape gives 1100048384, a difference of +1"),
    "another shape": (MODEL, "feed_forward: 5632", "feed_forward: 5631", "value:",
                      "value: 1100048384 parameters, but the shape gives 1099913216, a difference of +135168"),
    "window without a layer that slides": (WINDOW, "full_attention_every: 0", "full_attention_every: 1", "sliding_window:",
                                           "sliding_window: 4096, but every layer has full attention (full_attention_every: 1)"),
    "layers that slide without a window": (WINDOW, "sliding_window: 4096\n", "", "name:", "sliding_window: missing, but some layers slide (full_attention_every: 0)"),
    "rotary share above 1": (PHI, "rotary_share: 0.75", "rotary_share: 1.5", None, "rotary_share: 1.5 should be less than or equal to 1"),
    "one norm of q and k": (FAMILY, "qk_norms: 0", "qk_norms: 1", None, "qk_norms: 1 "),
    "other parts of a fused projection": (FUSED, "qkv: [q, k, v]", "qkv: [q, k]", None, "qkv: q, k, but the formulas fuse q, k, v"),
    "unknown fused projection": (FUSED, "gate_up: [gate, up]", "kv: [k, v]", None, "kv"),
    "empty source": (FAMILY, "source: '", "source: '' # '", None, "source: '' is empty"),
    "blank source": (CARD, "'GitHub issue vllm-project/vllm#27508'", "' '", "source: ' '", "source: ' ' is empty"),
    "missing source": (CARD, "  source: 'GitHub issue vllm-project/vllm#27508'\n", "", "memory:", "the key 'source' is missing"),
    "malformed date": (FAMILY, "date: 2026-11-30", "date: 2026-11-31", None, "2026-11-31 is not a date"),
    "date as text": (FAMILY, "date: 2026-11-30", "date: 30 November", None, "date: '30 November' is not a date; write one as 2026-11-30"),
    "wildcard in a name": (MODEL, "name: TinyLlama 1.1B", "name: TinyLlama*", None, "name: 'TinyLlama*' must not contain *"),
    "question mark in a name": (CARD, "name: H100 SXM 80GB", "name: H100?", None, "must not contain ?"),
    "tilde in a name": (CARD, "name: H100 SXM 80GB", "name: H100~", None, "must not contain ~"),
    "quote in a name": (CARD, "name: H100 SXM 80GB", "name: H100 \"SXM\"", None, 'must not contain "'),
    "trailing space in a name": (CARD, "name: H100 SXM 80GB", "name: 'H100 '", None, "name: 'H100 ' must not have leading, trailing or double spaces"),
    "double space in a name": (CARD, "name: H100 SXM 80GB", "name: H100  SXM", None, "must not have leading, trailing or double spaces"),
    "number as a name": (CARD, "name: H100 SXM 80GB", "name: '4090'", None, "name: '4090' must start with a letter or digit and contain a letter"),
    "formula as a name": (CARD, "name: H100 SXM 80GB", "name: =A1", None, "name: '=A1' must start with a letter or digit"),
    "long name": (CARD, "name: H100 SXM 80GB", f"name: H{'1' * 60}", None, "should have at most 60 characters"),
    "taken name": (MODEL, "name: TinyLlama 1.1B", "name: Llama 2 7B", None, "the name 'Llama 2 7B' is taken at "),
    "name that differs in case": (CARD, "name: H100 SXM 80GB", "name: a100 80gb", None, "the name 'a100 80gb' is taken as 'A100 80GB', which differs in case only, at "),
    "unknown segment": (CARD, "segment: datacenter", "segment: datacentre", None,
                        "segment: 'datacentre' is not one of consumer, workstation, datacenter, embedded, unified; did you mean 'datacenter'?"),
    "too much memory": (CARD, "usable_mib: 81009", "usable_mib: 89000", None, "usable_mib: 89000 does not go with marketing_gb 80; expected 69632 to 87654"),
    "too little memory": (CARD, "usable_mib: 81009", "usable_mib: 8100", None, "usable_mib: 8100 does not go with marketing_gb 80; expected 69632 to 87654"),
    "compute capability as a number": (CARD, "compute_capability: '9.0'", "compute_capability: 9.0", None, "compute_capability: 9.0 is not text; quote it"),
    "less with ECC off": (ECC_OFF, "usable_mib: 15936", "usable_mib: 14000", None,
                          "usable_mib: 14000 with ECC off does not go with 14912 in the other state; expected 15780 to 16121, a sixteenth more"),
    "more with ECC on": (ECC_ON, "usable_mib: 45604", "usable_mib: 49000", None,
                         "usable_mib: 49000 with ECC on does not go with 48676 in the other state; expected 45025 to 45999, a sixteenth less"),
    "half with ECC on": (ECC_ON, "usable_mib: 45604", "usable_mib: 24000", None, "usable_mib: 24000 with ECC on does not go with 48676"),
    "unknown setting of ECC": (ECC_ON, "state: ECC on", "state: ECC On", None, "state: 'ECC On' is not one of ECC on, ECC off; did you mean 'ECC on'?"),
    "ECC figure without a source": (ECC_OFF, "    source: 'ECC takes", "    sauce: 'ECC takes", None, "unknown key 'sauce'; did you mean 'source'? (and 1 more in this file)"),
    "less on Windows": (WINDOWS, "shown_mib: 24563", "shown_mib: 23000", None, "shown_mib: 23000 is out of bounds; expected 24,084 to 24,576"),
    "more on Windows than there is": (WINDOWS, "shown_mib: 24563", "shown_mib: 25756", None, "shown_mib: 25756 is out of bounds; expected 24,084 to 24,576"),
    "Windows figure without a date": (WINDOWS, "rounded)'\n    date: 2026-11-30", "rounded)'", "windows:", "the key 'date' is missing"),
    "bandwidth in TB/s": (CARD, "gb_s: 3350", "gb_s: 3.35", None, "gb_s: 3.35 is out of bounds; expected 10 to 20,000"),
    "bandwidth in MB/s": (CARD, "gb_s: 3350", "gb_s: 3350000", None, "gb_s: 3350000 is out of bounds; expected 10 to 20,000"),
    "bandwidth without a source": (CARD, "gb_s: 3350\n  source: '", "gb_s: 3350\n  source: '' # '", "source: ''", "source: '' is empty"),
    "no instance": (CARD, "names: [AWS p5, GCP a3-highgpu, GCP a3-megagpu, Azure ND_H100_v5]", "names: []", None, "names: [] should have at least 1 item"),
    "Hopper without BF16": (CARD, "native_bf16: true", "native_bf16: false", None, "native_bf16: false, but compute capability 9.0 has it; expected true"),
    "Turing with BF16": (ECC_OFF, "native_bf16: false", "native_bf16: true", None, "native_bf16: true, but compute capability 7.5 lacks it; expected false"),
    "NVIDIA card without compute capability": (CARD, "compute_capability: '9.0'", "compute_capability: null", None, "compute_capability: null, but an NVIDIA card has one"),
    "discrete card called unified": (AMD, "segment: datacenter", "segment: unified", "usable_mib:", "usable_mib: 196592 does not go with marketing_gb 192; expected 117965 to 157286"),
    "no context": (CARD, "  mib: 572", "  mib: 0", None, "mib: 0 should be greater than 0"),
    "module of a projection that is not there": (FAMILY, "gated_mlp: true", "gated_mlp: false", "modules:", "modules: gate, but a layer of this family has q, k, v, o, up, down"),
    "unknown projection": (FAMILY, "up: mlp.up_proj", "upp: mlp.up_proj", "modules:", "upp"),
    "module left out": (FAMILY, "up: mlp.up_proj, ", "", "modules:", "modules: up is missing; a layer of this family has q, k, v, o, gate, up, down"),
    "wide norms of q and k without any": (FAMILY, "wide_qk_norms: false", "wide_qk_norms: true", None, "wide_qk_norms: true, but qk_norms is 0"),
    "adapters on experts without any": (FAMILY, "adapts_experts: false", "adapts_experts: true", None, "adapts_experts: true, but experts is false"),
    "the article's word on what is not modelled": (FAMILY, "activations_modelled: true", "activations_modelled: false", "article_covers", "article_covers: true, but activations_modelled is false"),
    "experts in a dense family": (MODEL, "mlp_bias: false", "mlp_bias: false\n  experts: 8\n  experts_per_token: 2", "experts: 8", "experts: 8, but family 'Llama' has none"),
    "no experts in a family of them": (MOE, "  experts: 8\n", "", "shape:", "experts: missing, but family 'Mixtral' has them"),
    "more experts per token than there are": (MOE, "experts_per_token: 2", "experts_per_token: 9", None, "experts_per_token: 9; expected 1 to 8"),
    "no table of positions": (POSITIONS, "  learned_positions: 1024\n", "", "shape:", "learned_positions: missing, but family 'GPT-2' has them"),
    "another published figure without a reason": (OTHER_COUNT, "  difference: 'the file stores the output head apart, 65,024 x 4,544 parameters, which transformers ties to the embedding'\n", "",
                                                  "parameters:", "both or neither"),
    "the published figure twice": (OTHER_COUNT, "published_value: 7217189760", "published_value: 6921720704", "parameters:", "both or neither"),
    "unknown kind of input": (ADAPTERS, "  kind: number", "  kind: nomber", None, "kind: 'nomber' is not one of choice, model, card, whole, number; did you mean 'number'?"),
    "step that is not there": (CARD_INPUTS, "  step: 4\n  order: 10", "  step: 5\n  order: 10", "step: 5", "step: 5 should be less than or equal to 4"),
    "default that no model has": (CHOSEN, "default: TinyLlama 1.1B", "default: TinyLlama 1.1", None,
                                  "default: 'TinyLlama 1.1' is not one of the choices; did you mean 'TinyLlama 1.1B'?"),
    "default that no card has": (CARD_INPUTS, "default: H100 SXM 80GB", "default: h100 sxm 80gb", None,
                                 "default: 'h100 sxm 80gb' is not one of the choices; did you mean 'H100 SXM 80GB'?"),
    "default that is no choice": (BASE, "default: BF16", "default: BF61", None, "default: 'BF61' is not one of the choices; did you mean 'BF16'?"),
    "default out of bounds": (ADAPTERS, "default: 8\n", "default: 5000\n", "default: 5000", "default: 5000 is out of bounds; expected minimum 1, maximum 4096"),
    "default of another type": (ADAPTERS, "default: 8\n", "default: eight\n", "default: eight", "default: 'eight' is not a whole number"),
    "no default where a blank is refused": (BASE, "default: BF16", "default: null", None, "default: null, but a blank gives the message"),
    "blank that means no choice": (ADAPTERS, "  blank_means: \"No\"\n  choices: yes_no\n  help: Put adapters on the query", "  blank_means: \"Nope\"\n  choices: yes_no\n  help: Put adapters on the query", "Nope",
                                   "blank_means: 'Nope' is not one of the choices; did you mean 'No'?"),
    "blank without a meaning": (ADAPTERS, "  blank_means: all layers\n", "", "adapter_top_layers", "blank_means: missing; say what a blank means"),
    "unknown list": (BASE, "choices: yes_no", "choices: yes_now", None, "choices: no list is called 'yes_now'; did you mean 'yes_no'?"),
    "choice without a property": (BASE, "{name: INT8, article_bytes_per_parameter: 1, is_fp32: 0,", "{name: INT8, article_bytes_per_parameter: 1,", None,
                                  "the property 'is_fp32' of 'INT8' is missing: the first choice has article_bytes_per_parameter, is_fp32, is_quantised"),
    "choice with another property": (BASE, "{name: INT8, article_bytes_per_parameter: 1, is_fp32: 0,", "{name: INT8, article_bytes_per_parameter: 1, is_fp23: 0,", None,
                                     "unknown property 'is_fp23' of 'INT8': the first choice has article_bytes_per_parameter, is_fp32, is_quantised, is_int8, element_bytes, block_scale_bytes, output_scale_bytes, table_bytes; did you mean 'is_fp32'?"),
    "choice property that is text": (BASE, "{name: INT8, article_bytes_per_parameter: 1,", "{name: INT8, article_bytes_per_parameter: one,", None,
                                     "article_bytes_per_parameter: 'one' should be a valid"),
    "choice twice": (BASE, "{name: INT8,", "{name: bf16,", None, "the name 'bf16' is taken as 'BF16', which differs in case only, at "),
    "input twice": (ADAPTERS, "- name: lora_rank", "- name: base_storage", None, "the name 'base_storage' is taken at "),
    "long help": (CHOSEN, "help: Pick a preset", f"help: {'Pick ' * 60}", None, "should have at most 255 characters"),
    "long message": (CHOSEN, "message: Base model", f"message: {'Base ' * 60}", None, "should have at most 255 characters"),
    "long label": (BASE, "label: Base weights stored as", "label: How the base model's weights are stored", None, "should have at most 32 characters"),
    "bound that is no dimension": (ADAPTERS, "maximum_name: layers", "maximum_name: layer", None, "maximum_name: 'layer' is not one of hidden_size, layers, heads"),
    "bounds of a choice": (BASE, "  default: BF16\n", "  default: BF16\n  minimum: 1\n", "minimum", "minimum: not for kind choice"),
    "whole without lower bound": (ADAPTERS, "  minimum: 1\n  maximum: 4096\n", "  maximum: 4096\n", "lora_rank", "minimum: missing; kind whole needs a lower bound"),
    "fraction as bound of a whole": (ADAPTERS, "maximum: 4096", "maximum: 4096.5", None, "maximum: 4096.5 is not for kind whole"),
    "two lower bounds": (CARD_INPUTS, "  minimum: 0.0001\n", "  exclusive_minimum: 0\n  minimum: 0\n", "exclusive_minimum", "exclusive_minimum: not beside minimum"),
    "camelCase": (CONSTANTS, "- name: bytes_fp32", "- name: bytesFp32", None, "name: 'bytesFp32' must be snake_case with an underscore"),
    "name like a cell": (CONSTANTS, "- name: bytes_fp32", "- name: bf16", None, "name: 'bf16' must be snake_case with an underscore"),
    "constant twice": (CONSTANTS, "- name: bytes_fp32", "- name: bytes_per_gb", None, "the name 'bytes_per_gb' is taken at "),
    "constant that is no number": (CONSTANTS, "value: 1048576", "value: [1048576]", None, "value: [1048576] should be a valid"),
    "unknown book of inputs": (STEP, "books: [finetune, training]", "books: [finetune, traning]", None,
                               "books: 'traning' is not one of finetune, training, inference; did you mean 'training'?"),
    "unknown book of a model": (MODEL, "hub_id:", "books: [finetuning]\nhub_id:", None, "books: 'finetuning' is not one of finetune, training, inference; did you mean 'finetune'?"),
    "unknown book of a family": (FAMILY, "name: Llama", "name: Llama\nbooks: [Inference]", "books:", "books: 'Inference' is not one of finetune, training, inference; did you mean 'inference'?"),
    "unknown book of measured runs": ("measured/h100-training.yaml", "books: [training]", "books: [train]", None, "books: 'train' is not one of finetune, training, inference; did you mean 'training'?"),
    "inputs of no book": (STEP, "books: [finetune, training]", "books: []", None, "books: [] should have at least 1 item"),
    "one book that is no list": (STEP, "books: [finetune, training]", "books: finetune", None, "books: 'finetune' should be a valid list"),
    "inputs without books": (STEP, "books: [finetune, training]\n", "", "# Step 3", "the key 'books' is missing"),
    "inputs of another book without books": ("options/20_recipe.yaml", "books: [training]\n", "", "# Step 2", "the key 'books' is missing"),
    "measured runs without books": ("measured/h100-lora.yaml", "books: [finetune]\n", "", "source:", "the key 'books' is missing"),
    "unknown book of a default": (STEP, "defaults: {training: 256}", "defaults: {trainin: 256}", None,
                                  "'trainin' is not one of finetune, training, inference; did you mean 'training'?"),
    "measured runs with a key of their own": ("measured/h100-lora.yaml", "date: 2026", "model: TinyLlama 1.1B\ndate: 2026", "model:", "unknown key 'model'"),
    "tab": (MODEL, "  layers: 22", "  layers:\t22", None, "a tab"),
    "key twice": (MODEL, "  layers: 22", "  layers: 22\n  layers: 23", "layers: 23", "the key 'layers' a second time"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_line_is_named(root, name):
    file, old, new, on_line, says = BAD[name]
    path = root / file
    start = path.read_text(encoding="utf-8").index(old)
    change(path, old, new)
    error = refused(root)
    assert says in str(error)
    assert error.exit_code == 2
    first_line = path.read_text(encoding="utf-8")[:start].count("\n") + 1
    assert (error.path, error.line) == (path, line_of(path, on_line) if on_line else first_line)
    assert str(error).startswith(f"{path}:{error.line}:{error.column}: ")


@pytest.mark.parametrize(("old", "new", "says"), [
    ("defaults: {training: 256}", "defaults: {training: 0}", "default: 0 is out of bounds; expected minimum 1, maximum 1000000"),
    ("defaults: {training: 256}", "defaults: {training: many}", "default: 'many' is not a whole number"),
    ("defaults: {training: 256}", "defaults: {training: null}", "default: null, but a blank gives the message"),
])
def test_a_wrong_default_of_a_book_is_named_where_that_book_is_loaded(root, old, new, says):
    change(root / STEP, old, new)
    error = refused(root, "training")
    assert says in error.message and error.path == root / STEP and error.line
    assert [(item.name, item.default) for item in load(root).inputs] == [(item.name, item.default) for item in PRESETS.inputs]


def test_a_default_is_of_what_the_book_offers(root):
    """The article's encoder is a model of the training book alone."""
    change(root / CHOSEN, "default: TinyLlama 1.1B", "default: Article encoder 1B")
    assert "default: 'Article encoder 1B' is not one of the choices" in refused(root).message
    assert load(root, "training").inputs


def test_a_mistake_in_the_form_of_another_books_file_is_named(root):
    path = root / "options" / "20_recipe.yaml"
    change(path, "- name: storage_precision", "- nam: storage_precision")
    error = refused(root)
    assert (error.path, error.line) == (path, line_of(path, "- nam:")) and "unknown key 'nam'; did you mean 'name'?" in error.message


def test_the_column_is_that_of_the_key(root):
    change(root / MODEL, "  layers: 22", "  layers: 0")
    assert refused(root).column == 3


BAD_FILES = {
    "models/TinyLlama.yaml": "the file name 'TinyLlama' is not a slug",
    "models/tiny_llama.yaml": "the file name 'tiny_llama' is not a slug",
    "models/tinyllama.yml": "the file name 'tinyllama.yml' must end in .yaml",
    "model/tinyllama.yaml": "no presets are read from 'model'; did you mean 'models'?",
    "constant.yaml": "no presets are read from 'constant.yaml'; did you mean 'constants.yaml'?",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_in_the_wrong_place_or_with_the_wrong_name_is_named(root, name):
    (root / name).parent.mkdir(exist_ok=True)
    shutil.copy(root / MODEL, root / name)
    error = refused(root)
    assert error.path == root / name and BAD_FILES[name] in error.message


def test_hidden_files_are_left_alone(root):
    (root / "models" / ".DS_Store").write_bytes(b"\x00")
    assert load(root).digest == PRESETS.digest


@pytest.mark.parametrize(("old", "new", "place", "says"), [
    ("2,batch_size,4,TinyLlama 1.1B", "2,batch_size,4,TinyLlama", (3, 4), "base_model: 'TinyLlama' is not one of the choices; did you mean 'TinyLlama 1.1B'?"),
    ("2,batch_size,4,", "2,batch_size,", (3, 36), "35 cells, but 36 headings"),
    ("BF16,4,All linear,,8,512", "BF16,0,All linear,,8,512", (11, 7), "lora_rank: 0 is out of bounds; expected minimum 1, maximum 4096"),
    ("BF16,4,All linear,,8,512", "BF16,4,All linear,,,512", (11, 10), "batch_size: a blank is not allowed"),
    ("run,lever,lever_value", "run,lever,lever", (1, 3), "the heading 'lever' stands twice"),
    ("run,lever,lever_value", "run,,lever_value", (1, 2), "a heading is missing"),
])
def test_a_wrong_cell_of_a_measured_table_is_named(root, old, new, place, says):
    path = root / "measured" / "h100-lora.csv"
    change(path, old, new)
    error = refused(root)
    assert (error.path, error.line, error.column) == (path, *place)
    assert says in error.message


def test_a_measured_table_needs_its_source_file(root):
    (root / "measured" / "h100-lora.yaml").rename(root / "measured" / "other.yaml")
    assert "cannot be read" in refused(root).message


# What attaches itself


def test_a_new_model_and_card_are_one_new_file_each(root):
    shutil.copy(root / MODEL, root / "models" / "new.yaml")
    change(root / "models" / "new.yaml", "name: TinyLlama 1.1B", "name: New 1B")
    shutil.copy(root / CARD, root / "cards" / "new.yaml")
    change(root / "cards" / "new.yaml", "name: H100 SXM 80GB", "name: New 80GB")
    presets = load(root)
    assert "New 1B" in [model.name for model in presets.models] and "New 80GB" in [card.name for card in presets.cards]


def test_a_new_option_file_is_read(root):
    (root / "options" / "60_new.yaml").write_text("""books: [finetune]
inputs:
- name: new_choice
  label: New
  step: 4
  order: 99
  kind: choice
  unit: choice
  default: This
  blank: message
  choices:
  - {name: This, is_on: 0}
  - {name: That, is_on: 1}
  help: A choice.
  message: New (new_choice) must be This or That.
  source: a test
  date: 2026-11-30
""", encoding="utf-8")
    presets = load(root)
    assert presets.inputs[-1].name == "new_choice" and presets.choices["new_choice"].rows[1] == {"name": "That", "is_on": 1}
    assert "new_choice" not in [item.name for item in load(root, "training").inputs]


def test_a_model_is_offered_in_the_books_that_it_names(root):
    change(root / MODEL, "hub_id:", "books: [finetune, inference]\nhub_id:")
    offered = {book: "TinyLlama 1.1B" in [model.name for model in load(root, book).models] for book in ("finetune", "inference")}
    assert offered == {"finetune": True, "inference": True}
    change(root / MODEL, "books: [finetune, inference]", "books: [training]")
    assert "'TinyLlama 1.1B' is not one of the choices" in refused(root).message


def test_a_name_is_taken_within_a_book(root):
    """Two books may have an input of one name each, but no book two."""
    change(root / "options" / "20_recipe.yaml", "books: [training]", "books: [training, finetune]")
    assert "the name 'optimizer_choice' is taken at " in refused(root).message


def test_the_digest_is_that_of_the_files(root):
    assert load(root).digest == PRESETS.digest == load().digest
    assert {presets.digest for presets in BY_BOOK.values()} == {PRESETS.digest}, "of the files of every book"
    change(root / MODEL, "name: TinyLlama 1.1B", "name: TinyLlama 1.1B # the article's")
    assert load(root).digest != PRESETS.digest


def test_nearest_ignores_case_and_says_nothing_where_nothing_is_near():
    assert nearest("tinyllama 1.1b", ["Llama 2 7B", "TinyLlama 1.1B"]) == "; did you mean 'TinyLlama 1.1B'?"
    assert nearest("zzz", ["Llama 2 7B"]) == ""
