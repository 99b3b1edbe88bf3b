"""The inference book against what others published: checkpoints, start-up logs of servers, the mix of GGUF files."""
from __future__ import annotations

import re
from collections import Counter

import pytest

from builder.presets import load
from builder.reference import estimate
from builder.reference.inference_gguf import kinds, more_bits

PRESETS = load(book="inference")
INPUTS = {spec.name for spec in PRESETS.inputs}
LOGS, CHECKPOINTS = PRESETS.measured["server-logs"].rows, PRESETS.measured["checkpoints"].rows


def of(row):
    """The estimate of a row of a measured table."""
    found = estimate(PRESETS, {name: value for name, value in row.items() if name in INPUTS and value is not None})
    assert found["input_message"] == ""
    return found


@pytest.mark.parametrize("layers", [*range(1, 140), 1000, 4095])
def test_the_layers_with_more_bits_are_counted_as_llama_cpp_picks_them(layers):
    """i < n/8, i >= 7n/8 or (i - n/8) mod 3 = 2, layer by layer."""
    counted = Counter((layer < layers // 16, more_bits(layer, layers)) for layer in range(layers))
    assert {kind: count for kind, count in kinds(layers).items() if count} == dict(counted)


def test_kv_tokens_are_within_five_percent_of_eight_logs_in_ten():
    errors = {use: [of(row)["kv_cache_tokens"] / row["measured_kv_tokens"] - 1 for row in LOGS if row["use"] == use] for use in {row["use"] for row in LOGS}}
    every = [error for found in errors.values() for error in found]
    assert len(every) == 26 and sum(abs(error) <= 0.05 for error in every) == 24
    check = errors["check"]  # no constant was read from these
    assert len(check) == 10 and sum(abs(error) <= 0.05 for error in check) == 9 and max(map(abs, check)) < 0.055


def test_every_log_names_its_source_and_half_of_those_that_check_are_issues_or_pull_requests():
    assert all(row["source"] and re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(row["date"])) for row in LOGS)
    assert sum(row["source"].startswith("GitHub ") for row in LOGS if row["use"] == "check") >= 9


def test_the_cards_of_the_logs_and_their_models_vary():
    assert len({row["gpu_card"] for row in LOGS}) >= 6 and len({row["base_model"] for row in LOGS}) >= 12


# What a file holds beside its tensors: a header of some kB, a tokenizer.
LIMITS = {"BF16": 0.00004, "AWQ / GPTQ 4-bit": 0.00003, "MXFP4": 1e-9, "FP8": 0.003, "NF4 double-quantised": 0.0006, "GGUF Q8_0": 0.0015, "GGUF Q4_K_M": 0.01}


def test_weights_are_those_of_published_checkpoints():
    files = [row for row in CHECKPOINTS if not row["measured_kind"].startswith("on the card")]
    worst = Counter()
    for row in files:
        error = abs(of(row)["weights_bytes"] / row["measured_weights_bytes"] - 1)
        worst[row["weight_storage"]] = max(worst[row["weight_storage"]], error)
    assert {storage: error for storage, error in worst.items() if error > LIMITS[storage]} == {}
    assert len({row["base_model"] for row in files if row["weight_storage"] == "BF16"}) >= 10 and len(files) >= 50


def test_a_gguf_file_holds_its_tensors_and_a_tokenizer_beside():
    """The tensors to the byte: what is left of files of one tokenizer is the same."""
    left = {row["base_model"]: row["measured_weights_bytes"] - of(row)["weights_bytes"] for row in CHECKPOINTS if row["weight_storage"] == "GGUF Q4_K_M"}
    assert all(600_000 < rest < 8_500_000 for rest in left.values()), left
    for family in (("Llama 3.1 8B", "Llama 3.2 1B", "Llama 3.2 3B"), ("Qwen2.5-7B", "Qwen2.5-14B", "Qwen3-8B", "Qwen3-14B", "Qwen3-4B")):
        rest = [left[name] for name in family]
        assert max(rest) - min(rest) < 40_000, rest


def test_weights_on_a_card_are_a_little_more_than_the_checkpoint():
    """A server holds a rotary table and rounds its blocks up."""
    for row in CHECKPOINTS:
        if row["measured_kind"].startswith("on the card"):
            assert -0.005 < of(row)["weights_bytes"] / row["measured_weights_bytes"] - 1 < 0.0005, row["base_model"]
