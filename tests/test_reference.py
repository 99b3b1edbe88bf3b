"""The reference reproduces the published figures, refuses every bad input, and obeys the laws of the quantities.

Published figures: the article's table of runs on one H100 (tests/data/h100-lora.csv, columns article_*), its worked
configuration, and the LoRA counts that PEFT itself gives (tests/data/parameter-counts.csv).
"""

from __future__ import annotations

import ast
import csv
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder import presets as preset_files
from builder.errors import UsageError
from builder.reference import article_peak, decisions, estimate, largest, ledger_total, outputs, parameter_count, quantity_names
from builder.reference.finetune_estimate import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS
from builder.reference.shape import Shape
from builder.template import load_templates

DATA = Path(__file__).parent / "data"
REFERENCE = Path(__file__).parent.parent / "builder" / "reference"
PRESETS = preset_files.load()
INPUTS = {spec.name: spec for spec in PRESETS.inputs}
MODELS = {model.hub_id: model for model in PRESETS.models}
MODELLED = sorted(model.name for model in PRESETS.models if PRESETS.families[model.family].activations_modelled)

FITS, DOES_NOT_FIT, CHECK_INPUTS = "✓ FITS", "✗ DOES NOT FIT", "CHECK INPUTS"
NOT_COVERED = "not covered by the article"
LLAMA_2_7B, LLAMA_2_70B = "meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-70b-hf"
LLAMA_3_8B = "meta-llama/Meta-Llama-3-8B"

SHAPE = "hidden_size layers heads kv_heads head_dim feed_forward vocabulary parameters".split()
PROJECTIONS = "q k v qkv o gate up gate_up down router".split()
ITEMS = (
    "article_frozen_base article_adapter_weights article_gradients article_optimizer_states article_autocast_cache "
    "article_activations article_matmul_workspace"
).split()
LEDGER_ITEMS = [f"{item.removeprefix('article_')}_gb" for item in ITEMS]
PUBLIC = [f"{item}_gb" for item in ITEMS] + (
    "article_peak_forward_gb article_peak_backward_gb article_peak_optimizer_gb article_peak_allocated_gb "
    "article_peak_moment article_peak_reserved_gb article_allocator_overhead_gb article_cuda_context_gb "
    "article_total_gb article_headroom_gb article_utilization article_fit_verdict"
).split()
OTHERS = (
    "q_width kv_width sliding_window full_attention_every rotary_share fused_qkv fused_gate_up parameters_from_shape adapter_width_per_layer adapter_layers trainable_parameters tokens_per_step "
    "gpu_capacity_preset_gb gpu_capacity_gb gpu_capacity_gib bf16_used other_ecc_gb windows_gb input_notes article_covered article_compute_bytes article_autocast "
    "article_base_bytes_per_parameter article_stream_elements article_feed_forward_elements article_logit_elements "
    "article_segment_bytes article_layer_bytes article_dropout_mask_bytes article_once_per_model_bytes "
    "article_boundary_bytes article_activations_kept_bytes article_activations_checkpointed_bytes "
    "article_activations_forward_bytes article_workspace_tensors article_held_bytes article_adam_temporary_bytes "
    "article_peak_backward_bytes article_peak_optimizer_bytes article_peak_forward_bytes article_peak_allocated_bytes "
    "article_peak_is_backward article_peak_is_optimizer article_peak_is_forward article_peak_reserved_bytes "
    "article_total_bytes input_message"
).split()


def job(**typed: object) -> dict[str, object]:
    """The estimate of the article's worked configuration with these inputs changed."""
    return estimate(PRESETS, typed)


def article(result):
    """What a job's quantities say of the article's accounting."""
    return {name: value for name, value in result.items() if name.startswith("article_")}


def at(value: float, digits: int) -> str:
    """A figure as printed with so many decimals."""
    return f"{value:.{digits}f}"


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a data file of the tests."""
    with open(DATA / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Names


def test_every_quantity_of_the_interface_is_returned():
    expected = set(SHAPE) | {f"{name}_preset" for name in SHAPE}
    expected |= {f"{p}_targeted" for p in PROJECTIONS} | {f"{p}_adapter_width" for p in PROJECTIONS}
    expected |= {f"{item}_bytes" for item in ITEMS} | {f"{item}_at_peak_bytes" for item in ITEMS}
    ledger = {row.name for line in load_templates("finetune").lines if line.slug.startswith("ledger") for row in line.rows}
    expected |= set(PUBLIC) | set(OTHERS) | (set(job()) & ledger)
    assert set(job()) == expected and set(ledger_total.OUTPUTS) <= ledger & expected
    assert set(quantity_names(PRESETS)) == expected
    assert set(job(lora_rank="x")) == expected, "a refused job returns the same names"
    assert set(job(optimizer_choice="SGD")) == expected, "a job that is not covered returns the same names"


def test_the_largest_batch_and_sequence_are_public_beside_the_estimate():
    assert set(PUBLIC_OUTPUTS) - set(ESTIMATE_OUTPUTS) == set(largest.OUTPUTS) and set(ESTIMATE_OUTPUTS) < set(job())
    found = outputs(PRESETS, {"batch_size": 4})
    assert found == job(batch_size=4) | {name: found[name] for name in largest.OUTPUTS}
    assert [found[name] for name in largest.OUTPUTS] == [55, 62, 7155, 8042]
    assert outputs(PRESETS, {"lora_rank": 0}) == job(lora_rank=0) | dict.fromkeys(largest.OUTPUTS)


def test_every_point_is_at_most_the_peak_and_one_is_the_peak():
    for changes in ({}, {"activation_checkpointing": "On"}, {"base_storage": "NF4"}, {"attention_kernel": "Eager"}, {"loss_kernel": "Fused or chunked"}):
        found = job(**changes)
        assert max(value for name, value in found.items() if name.startswith("point_")) == found["traced_peak_bytes"] == found["points_peak_bytes"]


def test_the_room_is_what_the_verdict_allows():
    """A job fits exactly where what it reserves is within the room; cards of whole pages once lost one to rounding."""
    for card in PRESETS.cards:
        for mode in ("Default", "Expandable segments"):
            found = job(gpu_card=card.name, allocator_mode=mode, batch_size=20)
            assert (found["traced_reserve_bytes"] <= found["room_bytes"]) == (found["fit_verdict"] == FITS)
            assert (found["traced_peak_bytes"] <= found["tight_room_bytes"]) == (found["tight_total_gb"] <= found["gpu_capacity_gb"])
    free = job(gpu_card="GeForce RTX 4090", allocator_mode="Expandable segments")
    assert free["room_bytes"] == 24_637_079_552 == pytest.approx(free["free_bytes"] - free["workspace_bytes"])


def test_decisions_need_a_valid_job():
    with pytest.raises(ValueError, match="lora_rank"):
        decisions(PRESETS, {"lora_rank": 0})


def test_the_reference_is_independent_of_what_it_proves():
    allowed = ("builder.reference", "builder.presets", "builder.schema", "builder.errors")
    for path in REFERENCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("builder") or name.startswith(allowed), f"{path.name} imports {name}"


# Published figures


def run_id(row: dict[str, str]) -> str:
    return f"{row['lever']}-{row['lever_value']}"


@pytest.mark.parametrize("row", rows("h100-lora.csv"), ids=run_id)
def test_every_published_run_to_the_last_printed_digit(row):
    top = row["adapter_layers"]
    result = job(
        base_storage={"bf16": "BF16", "fp32": "FP32"}[row["base_storage"]],
        lora_rank=int(row["rank"]),
        adapter_top_layers=None if top == "all" else int(top.removeprefix("upper-")),
        batch_size=int(row["batch"]),
        sequence_length=int(row["seq"]),
        optimizer_choice={"adam": "Adam", "adam8bit": "8-bit Adam"}[row["optimizer"]],
        activation_checkpointing={"false": "Off", "true": "On"}[row["checkpointing"]],
    )
    assert result["parameters"] == int(row["frozen_params"])
    assert result["trainable_parameters"] == int(row["trainable_params"])
    published = {
        "article_frozen_base_gb": "article_frozen_gb",
        "article_adapter_weights_gb": "article_adapter_gb",
        "article_gradients_gb": "article_gradients_gb",
        "article_optimizer_states_gb": "article_optimizer_gb",
        "article_autocast_cache_gb": "article_cache_gb",
        "article_activations_gb": "article_activations_gb",
        "article_peak_allocated_gb": "article_peak_allocated_gb",
        "article_total_gb": "article_total_gb",
    }
    for name, column in published.items():
        assert at(result[name], 4) == at(float(row[column]), 4), name
    assert result["article_fit_verdict"] == {"true": DOES_NOT_FIT, "false": FITS}[row["article_oom"]]


def test_all_25_runs_are_there_two_of_them_out_of_memory():
    runs = rows("h100-lora.csv")
    assert len(runs) == 25
    assert [run_id(row) for row in runs if row["article_oom"] == "true"] == ["combined-baseline", "combined-adam8bit"]


def test_worked_configuration():
    result = job()
    assert result["trainable_parameters"] == 6_307_840
    assert at(result["article_frozen_base_gb"], 2) == "2.20"
    assert at(result["article_adapter_weights_gb"] * 1000, 2) == "25.23"
    assert at(result["article_gradients_gb"] * 1000, 2) == "25.23"
    assert at(result["article_optimizer_states_gb"] * 1000, 2) == "50.46"
    assert at(result["article_autocast_cache_gb"] * 1000, 1) == "12.6"
    assert at(result["article_activations_gb"], 2) == "8.96"
    assert at(result["article_matmul_workspace_gb"], 2) == "1.53"
    assert at(result["article_peak_allocated_gb"], 4) == "12.7966"
    assert at(result["article_peak_reserved_gb"], 4) == "13.9966"
    assert at(result["article_total_gb"], 4) == "14.5966"
    assert result["article_peak_moment"] == "Start of backward"
    assert result["article_peak_forward_gb"] == result["article_peak_optimizer_gb"] == NOT_COVERED
    assert result["article_peak_backward_gb"] == result["article_peak_allocated_gb"]
    assert result["article_peak_forward_bytes"] == result["article_peak_optimizer_bytes"] == 0
    assert result["input_message"] == ""


def test_worked_configuration_with_checkpointing():
    result = job(activation_checkpointing="On")
    assert at(result["article_activations_gb"], 2) == "2.44"
    assert result["article_matmul_workspace_gb"] == 0
    assert at(result["article_peak_allocated_gb"], 4) == "4.7148"
    assert at(result["article_peak_reserved_gb"], 4) == "9.9148"
    assert at(result["article_total_gb"], 4) == "10.5148"
    assert result["article_peak_moment"] == "Inside a layer's backward"


@pytest.mark.parametrize(("top", "activations"), [(11, "5.40"), (3, "2.82")])
def test_activations_stop_at_the_shallowest_adapter(top, activations):
    assert at(job(adapter_top_layers=top)["article_activations_gb"], 2) == activations


@pytest.mark.parametrize(
    ("storage", "gb"), [("FP32", "4.40"), ("INT8", "1.10"), ("NF4", "0.55"), ("NF4 double-quantised", "0.55")]
)
def test_base_storage(storage, gb):
    assert at(job(base_storage=storage)["article_frozen_base_gb"], 2) == gb


def test_large_batch_fits_with_checkpointing_only():
    large = {"batch_size": 32, "sequence_length": 2048, "gpu_card": "H100 SXM 80GB"}
    without, with_checkpointing = job(**large), job(**large, activation_checkpointing="On")
    assert at(without["article_total_gb"], 2) == "171.84"
    assert without["article_fit_verdict"] == DOES_NOT_FIT
    assert without["article_headroom_gb"] < 0 < with_checkpointing["article_headroom_gb"]
    assert without["article_utilization"] > 1 > with_checkpointing["article_utilization"]
    assert with_checkpointing["article_fit_verdict"] == FITS


def test_70b_base_in_bf16():
    assert at(job(base_model=MODELS[LLAMA_2_70B].name)["article_frozen_base_gb"], 2) == "137.95"


# Counts


@pytest.mark.parametrize(
    ("hub_id", "count"), [(LLAMA_2_7B, 19_988_480), (LLAMA_3_8B, 20_971_520), (LLAMA_2_70B, 103_546_880)]
)
def test_all_linear_adapters_at_rank_8(hub_id, count):
    assert job(base_model=MODELS[hub_id].name)["trainable_parameters"] == count


COUNTS = {row["hf_repo"]: row for row in rows("parameter-counts.csv")}


@pytest.mark.parametrize("hub_id", sorted(MODELS))
def test_counts_of_every_shipped_model_are_those_of_its_modules(hub_id):
    row = COUNTS[hub_id]
    for targets, column in {"q, v": "qv", "q, k, v, o": "qkvo", "All linear": "all_linear"}.items():
        for rank in (8, 16):
            result = job(base_model=MODELS[hub_id].name, lora_targets=targets, lora_rank=rank)
            assert result["trainable_parameters"] == int(row[f"lora_r{rank}_{column}"]), (targets, rank)
    assert result["parameters_from_shape"] == result["parameters"] == result["parameters_preset"] == int(row["total"])


def test_biases_have_the_output_width_of_their_projection():
    shape = Shape(hidden_size=10, layers=1, heads=4, kv_heads=2, head_dim=3, feed_forward=50, vocabulary=1)
    gated, plain = SimpleNamespace(gated_mlp=True), SimpleNamespace(gated_mlp=False)

    def biases(family, experts=None, **has):
        preset = SimpleNamespace(**{"qkv_bias": False, "o_bias": False, "mlp_bias": False, "experts": experts, **has})
        return parameter_count.bias_parameters(shape, preset, family)

    assert biases(gated, qkv_bias=True) == 12 + 6 + 6
    assert biases(gated, o_bias=True) == 10
    assert biases(gated, mlp_bias=True) == 50 + 50 + 10
    assert biases(plain, mlp_bias=True) == 50 + 10
    assert biases(gated, experts=3, mlp_bias=True) == 3 * (50 + 50 + 10)


def test_custom_targets_count_their_own_projections():
    both = job(lora_targets="Custom", target_q="Yes", target_v="Yes")
    assert both["trainable_parameters"] == job(lora_targets="q, v")["trainable_parameters"]
    down = job(lora_targets="Custom", target_down="Yes", target_q="No")
    assert (down["down_targeted"], down["q_targeted"], down["trainable_parameters"]) == (1, 0, 8 * 22 * (5632 + 2048))
    assert job(target_q="No")["q_targeted"] == 1, "the switches count only when the targets are Custom"


def test_any_part_of_a_fused_projection_means_the_whole():
    phi = {"base_model": "Phi-4", "lora_targets": "Custom", "adapter_top_layers": 1, "lora_rank": 1}
    qkv, gate_up = 5120 + 5120 + 2 * 1280, 5120 + 2 * 17920
    for part in ("q", "k", "v"):
        assert job(**phi, **{f"target_{part}": "Yes"})["trainable_parameters"] == qkv, part
    for part in ("gate", "up"):
        assert job(**phi, **{f"target_{part}": "Yes"})["trainable_parameters"] == gate_up, part
    both = job(**phi, target_q="Yes", target_k="Yes", target_up="Yes")
    assert (both["qkv_adapter_width"], both["gate_up_adapter_width"], both["q_adapter_width"], both["up_adapter_width"]) == (qkv, gate_up, 0, 0)
    assert both["trainable_parameters"] == qkv + gate_up


def test_norms_of_q_and_k_have_a_weight_per_element_of_a_head():
    shape = Shape(hidden_size=10, layers=3, heads=4, kv_heads=2, head_dim=3, feed_forward=50, vocabulary=1)
    without, qwen3, gemma3 = (PRESETS.families[slug] for slug in ("llama", "qwen3", "gemma3"))
    assert [parameter_count.norm_parameters(shape, family) for family in (without, qwen3, gemma3)] == [20, 20 + 2 * 3, 40 + 2 * 3]


@pytest.mark.parametrize(("name", "facts"), [
    ("TinyLlama 1.1B", (0, 1, 1)), ("Mistral 7B v0.1", (4096, 0, 1)), ("Gemma 2 2B", (4096, 2, 1)), ("Gemma 3 1B", (512, 6, 1)), ("Phi-4 mini", (262144, 0, 0.75))])
def test_sliding_window_and_rotary_share_are_the_presets(name, facts):
    result = job(base_model=name, layers_override=5)
    assert (result["sliding_window"], result["full_attention_every"], result["rotary_share"]) == facts


# What the article's table of runs does not reach


def test_fp32_without_autocast():
    result = job(base_storage="FP32", compute_precision="As stored, no autocast")
    x, ff, logits = 4096 * 2048, 4096 * 5632, 4096 * 32000
    segment = (6 * x + x / 4 + 4 * ff) * 4
    assert result["article_autocast_cache_bytes"] == 0
    assert result["article_segment_bytes"] == segment
    assert result["article_activations_bytes"] == 22 * (segment + 8 * x) + 4 * x + 4 * logits


def test_dropout_masks_count_without_checkpointing_only():
    masks = 22 * (2 * 4096 * 2048 + 4096 * 5632)
    assert job(lora_dropout=0.05)["article_activations_bytes"] - job()["article_activations_bytes"] == masks
    assert job(lora_dropout=None) == job()
    checkpointed = job(activation_checkpointing="On")
    dropped = job(activation_checkpointing="On", lora_dropout=0.05)
    assert dropped["article_total_gb"] == checkpointed["article_total_gb"]


def test_the_optimizer_step_can_set_the_peak():
    result = job(activation_checkpointing="On", batch_size=1, sequence_length=1, lora_rank=4096)
    adapters = 4096 * 35840 * 22
    assert result["article_peak_moment"] == "Optimizer step"
    assert result["article_peak_allocated_bytes"] == 2 * 1_100_048_384 + (4 + 8 + 4 + 4) * adapters
    assert result["article_gradients_at_peak_bytes"] == 8 * adapters
    assert result["article_activations_at_peak_bytes"] == 0
    assert result["article_gradients_gb"] == 4 * adapters / 1e9, "the line item itself is without the temporary"
    eight_bit = job(
        activation_checkpointing="On", batch_size=1, sequence_length=1, lora_rank=4096, optimizer_choice="8-bit Adam"
    )
    assert eight_bit["article_peak_optimizer_bytes"] == 2 * 1_100_048_384 + (4 + 2 + 4) * adapters


def test_forward_can_set_the_peak():
    result = job(activation_checkpointing="On", base_storage="FP32")
    x, ff, logits = 4096 * 2048, 4096 * 5632, 4096 * 32000
    cache = 2 * (1_100_048_384 + 6_307_840)
    in_forward = 22 * 4 * x + (6 * x + x / 4 + 4 * ff) * 2 + 2 * logits + 4 * logits
    assert result["article_peak_moment"] == "Forward"
    assert result["article_peak_allocated_bytes"] == 4 * 1_100_048_384 + 12 * 6_307_840 + cache + in_forward
    assert result["article_autocast_cache_at_peak_bytes"] == cache
    assert result["article_activations_at_peak_bytes"] == in_forward
    assert result["article_peak_forward_gb"] == result["article_peak_allocated_gb"]


@pytest.mark.parametrize(
    ("moments", "first"),
    [((3, 3, 3), "backward"), ((2, 3, 3), "optimizer"), ((3, 2, 3), "backward"), ((1, 2, 3), "forward")],
)
def test_equal_moments_are_named_in_order(moments, first):
    assert article_peak.moment_of_peak(*moments) == first


def test_capacity_is_the_cards_or_the_users():
    card = next(card for card in PRESETS.cards if card.name == "H100 SXM 80GB")
    result = job()
    assert result["gpu_capacity_gb"] == result["gpu_capacity_preset_gb"] == card.memory.usable_mib * 2**20 / 1e9
    assert result["gpu_capacity_gib"] == pytest.approx(card.memory.usable_mib / 1024, rel=1e-12)
    total = result["article_total_gb"]
    assert job(gpu_capacity_override_gb=total)["article_fit_verdict"] == FITS, "a total equal to the capacity fits"
    assert job(gpu_capacity_override_gb=total - 1e-6)["article_fit_verdict"] == DOES_NOT_FIT
    assert job(memory_already_used_gb=2)["article_total_gb"] == pytest.approx(total + 2, rel=1e-12)
    assert job(memory_already_used_gb=2)["article_peak_reserved_gb"] == result["article_peak_reserved_gb"]


def test_overrides_replace_the_preset_and_leave_the_parameter_count():
    result = job(layers_override=10, feed_forward_override=4096, heads_override=16)
    assert (result["layers_preset"], result["layers"], result["adapter_layers"]) == (22, 10, 10)
    assert (result["q_width"], result["kv_width"]) == (16 * 64, 4 * 64)
    assert result["parameters"] == 1_100_048_384 != result["parameters_from_shape"]
    assert job(parameters_override=10**9)["article_frozen_base_gb"] == 2


# Scope

UNCOVERED = [
    {"optimizer_choice": "Adam fused"},
    {"optimizer_choice": "SGD"},
    {"attention_kernel": "Eager"},
    {"loss_kernel": "Fused or chunked"},
    {"adapter_dtype": "BF16"},
    *(
        {"compute_precision": "As stored, no autocast", "base_storage": storage}
        for storage in ("BF16", "INT8", "NF4", "NF4 double-quantised")
    ),
]


@pytest.mark.parametrize("choices", UNCOVERED, ids=str)
def test_outside_its_scope_the_article_gives_no_number(choices):
    result = job(**choices)
    assert {result[name] for name in PUBLIC} == {NOT_COVERED}
    assert result["article_covered"] == 0
    assert result["input_message"] == ""
    assert result["trainable_parameters"] == 6_307_840


@pytest.mark.parametrize(
    "choices",
    [
        {"kbit_preparation": "Yes"},
        {"keeps_kv_cache": "No"},
        {"keeps_previous_output": "Yes"},
        {"training_loop": "Hugging Face Trainer"},
        {"allocator_mode": "Expandable segments"},
    ],
    ids=str,
)
def test_what_the_article_does_not_know_changes_nothing(choices):
    assert article(job(**choices)) == article(job())


def test_inputs_without_effect_are_noted():
    assert job()["input_notes"] == job(base_storage="NF4", kbit_preparation="Yes")["input_notes"] == ""
    assert "k-bit preparation has no effect" in job(kbit_preparation="Yes")["input_notes"]
    assert "parameters_override" in job(layers_override=11)["input_notes"]
    assert job(layers_override=11, parameters_override=615_561_216)["input_notes"] == ""
    assert "target switches have no effect" in job(target_q="Yes")["input_notes"]
    assert job(target_q="Yes", lora_targets="Custom")["input_notes"] == ""


def test_a_capacity_that_is_an_estimate_is_noted():
    assert "is an estimate" in job(gpu_card="GeForce RTX 5070 Ti")["input_notes"]
    assert job(gpu_card="GeForce RTX 5070 Ti", gpu_capacity_override_gb=10)["input_notes"] == ""


@pytest.mark.parametrize("card, notes", [
    ("L40S", "With ECC off this card has 50.92 GB (estimate): type it as the capacity override. "),
    ("RTX A6000", "With ECC on this card has 47.82 GB (estimate): type it as the capacity override. "),
    ("GeForce RTX 4090", "On Windows PyTorch shows 25.76 GB: the desktop takes part of it, so type what is free as the capacity override. "),
    ("H100 SXM 80GB", ""),
])
def test_what_another_setting_gives_is_noted_until_a_capacity_is_typed(card, notes):
    assert job(gpu_card=card)["input_notes"] == notes
    assert job(gpu_card=card, gpu_capacity_override_gb=40)["input_notes"] == ""


@pytest.mark.parametrize("typed, warned", [
    ({}, True), ({"base_storage": "NF4"}, True), ({"base_storage": "FP32"}, True),
    ({"compute_precision": "As stored, no autocast"}, True),
    ({"compute_precision": "As stored, no autocast", "base_storage": "FP32"}, False),
    ({"compute_precision": "As stored, no autocast", "base_storage": "NF4"}, False),
    ({"compute_precision": "As stored, no autocast", "base_storage": "FP32", "adapter_dtype": "BF16"}, True),
    ({"gpu_capacity_override_gb": 15}, True),
], ids=str)
def test_bf16_on_a_card_without_it_is_noted(typed, warned):
    note = PRESETS.constants["note_bf16"].value
    assert (note in job(gpu_card="Tesla P100 PCIe 16 GB", **typed)["input_notes"]) is warned
    assert note not in job(gpu_card="L4", **typed)["input_notes"]


def test_every_offered_choice_is_known_to_the_reference():
    for spec in PRESETS.inputs:
        for choice in spec.choices or ():
            others = {"target_q": "Yes"} if choice.name == "Custom" else {}
            assert job(**{spec.name: choice.name}, **others)["input_message"] == "", (spec.name, choice.name)


# Inputs

TEXTS = [" ", "text", "40 GB", "*", "BF*", "bf16", "8", "?", "~", "#N/A"]
NEVER_VALID = [*TEXTS, True, False, float("nan"), float("inf"), [8], {"a": 1}]
BAD_FOR_NUMBERS = {
    "lora_dropout": [-8, -0.1, 1, 1.5, 1e300],
    "gpu_capacity_override_gb": [-8, 0],
    "memory_already_used_gb": [-8, -0.1],
}


def bad_values(spec: object) -> list[object]:
    """Values that an input must refuse."""
    blanks = [None, ""] if spec.blank == "message" else []
    if spec.kind in ("choice", "model", "card"):
        near = [spec.default.lower(), spec.default.upper() + " ", f" {spec.default}"] if spec.default else []
        return [*blanks, *NEVER_VALID, *near, "unknown", -8, 0, 1, 1.5, 1e300]
    if spec.kind == "whole":
        too_large = [1e300] if spec.maximum is not None or spec.maximum_name is not None else []
        return [*blanks, *NEVER_VALID, -8, 0, 1.5, *too_large]
    return [*blanks, *NEVER_VALID, *BAD_FOR_NUMBERS[spec.name]]


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_every_bad_input_gives_its_message_and_no_number(name):
    spec = INPUTS[name]
    for bad in bad_values(spec):
        result = job(**{name: bad})
        numbers = {key: value for key, value in result.items() if key not in ("fit_verdict", "article_fit_verdict", "input_message")}
        assert result["fit_verdict"] == result["article_fit_verdict"] == CHECK_INPUTS, repr(bad)
        assert set(numbers.values()) == {None}, repr(bad)
        assert result["input_message"].startswith(spec.message), repr(bad)
        assert f"({name})" in result["input_message"]


@pytest.mark.parametrize("name", sorted(name for name, spec in INPUTS.items() if spec.blank == "allowed"))
def test_where_blank_has_a_meaning_it_is_valid(name):
    assert job(**{name: None})["input_message"] == job(**{name: ""})["input_message"] == ""


def test_bounds_are_valid_themselves():
    for name, spec in INPUTS.items():
        for bound in (spec.minimum, spec.maximum):
            if bound is not None and spec.kind in ("whole", "number"):
                heads = {"kv_heads_override": 1} if name == "heads_override" else {}
                assert spec.message not in job(**{name: bound}, **heads)["input_message"], (name, bound)
        if spec.kind == "whole" and spec.maximum is not None:
            assert spec.message in job(**{name: spec.maximum + 1})["input_message"], name
    assert job(batch_size=8.0) == job(), "a whole number may come as a float"


def test_the_top_layers_are_bound_by_the_layers_used():
    message = INPUTS["adapter_top_layers"].message
    assert job(adapter_top_layers=22)["input_message"] == ""
    assert job(adapter_top_layers=23)["input_message"] == message
    assert job(adapter_top_layers=23, layers_override=23)["input_message"] == ""
    assert job(adapter_top_layers=22, layers_override=21)["input_message"] == message
    # Of an unknown model the layers are not known: what is wrong is the model, and only the model.
    unknown = job(adapter_top_layers=1, base_model="unknown")["input_message"]
    assert unknown == INPUTS["base_model"].message


def test_the_first_invalid_input_in_the_order_of_the_sheet_is_named():
    messages = job(gpu_card="unknown", lora_rank=0, batch_size=None)["input_message"]
    assert messages == INPUTS["lora_rank"].message + " (and 2 more)"


def test_rules_over_several_inputs():
    rules = {rule.name: rule.message for rule in PRESETS.rules}
    assert job(kv_heads_override=5)["input_message"] == rules["heads_divide"]
    assert job(heads_override=2)["input_message"] == rules["heads_divide"], "fewer heads than KV heads"
    assert job(kv_heads_override=8)["input_message"] == ""
    assert job(lora_targets="Custom")["input_message"] == rules["custom_targets"]
    assert job(lora_targets="Custom", target_k="No")["input_message"] == rules["custom_targets"]
    assert job(lora_targets="Custom", target_k="Yes")["input_message"] == ""
    assert job(lora_targets="custom")["input_message"] == INPUTS["lora_targets"].message
    assert job(heads_override="x")["input_message"] == INPUTS["heads_override"].message


def test_an_unknown_name_is_a_usage_error_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean 'lora_rank'"):
        job(lora_rnk=8)


# Laws

JOBS = st.fixed_dictionaries(
    {
        "base_model": st.sampled_from(MODELLED),
        "base_storage": st.sampled_from(["BF16", "FP32", "INT8", "NF4"]),
        "lora_rank": st.integers(1, 4096),
        "lora_targets": st.sampled_from(["All linear", "q, v", "q, k, v, o"]),
        "lora_dropout": st.sampled_from([0, 0.1]),
        "batch_size": st.integers(1, 10_000),
        "sequence_length": st.integers(1, 10_000),
        "optimizer_choice": st.sampled_from(["Adam", "8-bit Adam"]),
        "activation_checkpointing": st.sampled_from(["Off", "On"]),
    }
)
LAW = settings(max_examples=100, deadline=None)


@LAW
@given(JOBS)
def test_items_at_the_peak_sum_to_the_peak(typed):
    result = job(**typed)
    if result["article_covered"]:
        total = sum(result[f"{item}_at_peak_bytes"] for item in ITEMS)
        assert total == pytest.approx(result["article_peak_allocated_bytes"], rel=1e-12)
        assert sum(result[f"article_peak_is_{moment}"] for moment in ("backward", "optimizer", "forward")) == 1
    assert sum(result[name] for name in LEDGER_ITEMS) == pytest.approx(result["peak_allocated_gb"], rel=1e-12)
    assert all(result[name] >= 0 for name in LEDGER_ITEMS)


@LAW
@given(JOBS, st.integers(1, 100))
def test_a_larger_batch_never_needs_less(typed, more):
    larger = {**typed, "batch_size": typed["batch_size"] + more}
    small, large = job(**typed), job(**larger)
    for name in ("article_total_gb", "peak_allocated_gb", "total_gb", "reserved_low_gb", "reserved_high_gb"):
        if small[name] != NOT_COVERED:
            assert large[name] >= small[name] * (1 - 1e-12), name


@LAW
@given(JOBS, st.data())
def test_more_layers_never_have_fewer_adapters(typed, data):
    layers = job(**typed)["layers"]
    few = data.draw(st.integers(1, layers))
    many = data.draw(st.integers(few, layers))
    fewer, more = job(**typed, adapter_top_layers=few), job(**typed, adapter_top_layers=many)
    assert fewer["trainable_parameters"] <= more["trainable_parameters"]
    assert fewer["article_total_gb"] <= more["article_total_gb"]


@LAW
@given(JOBS)
def test_batch_and_sequence_are_interchangeable(typed):
    swapped = {**typed, "batch_size": typed["sequence_length"], "sequence_length": typed["batch_size"]}
    assert article(job(**swapped)) == article(job(**typed))  # rotary tables and masks grow with the sequence alone
