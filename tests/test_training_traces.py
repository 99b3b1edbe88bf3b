"""The ledger of full training against traced steps and measured runs: every stored row, and with `make trace` jobs drawn afresh."""
from __future__ import annotations

import csv
import os
from pathlib import Path
from random import Random

import pytest

from builder.presets import load
from builder.reference import estimate
from builder.reference.ledger_peak import MOMENTS
from tests.tracer import not_installed
from tests.tracer.draw_full import draw, job, modelled

DATA = Path(__file__).parent / "data"
PRESETS = load(book="training")
INPUTS = {spec.name: spec for spec in PRESETS.inputs}
GB = 10**9
PEAK, MOMENT = 0.0005, 0.005  # relative; the issue asks for 0.005 of both
DRAWN, FRESH = 3, 0.005  # jobs of each family, and how far the peak of each may be off
FAMILIES = modelled(PRESETS)


def rows(name):
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


SHARED, STORED = rows("full-shared-traces.csv"), rows("full-traces.csv")


def typed(row):
    """What a row types: numbers as numbers, a blank as a blank."""
    found = {}
    for name, value in row.items():
        if name in INPUTS:
            number = INPUTS[name].kind in ("whole", "number")
            found[name] = None if value == "" else (int(value) if value.isdigit() else float(value)) if number else value
    return found


def label(row):
    return ", ".join(row[name] for name in ("base_model", "storage_precision", "optimizer_choice", "batch_size", "sequence_length", "activation_checkpointing"))


@pytest.mark.parametrize("row", SHARED, ids=label)
def test_a_step_of_a_whole_model_is_the_traced_one(row):
    found = estimate(PRESETS, typed(row))
    assert found["input_message"] == ""
    figures = {
        "after_forward_bytes": found["after_forward_bytes"],
        "peak_forward_bytes": max(found["forward_bytes"], found["in_the_loss_bytes"]),
        "peak_backward_bytes": max(found["start_of_backward_bytes"], found["inside_layer_bytes"]),
        "peak_optimizer_bytes": found["optimizer_step_bytes"],
        "peak_bytes": found["traced_peak_bytes"],
    }
    off = {name: abs(value / int(row[name]) - 1) for name, value in figures.items()}
    assert max(off.values()) < PEAK, off
    assert found["parameters"] == int(row["trainable_params"])
    workspace = found["workspace_bytes"]
    assert found["default_low_bytes"] - workspace <= int(row["peak_reserved_bytes"]) <= found["default_high_bytes"] - workspace


@pytest.mark.parametrize("row", STORED, ids=label)
def test_a_drawn_step_is_the_traced_one(row):
    found = estimate(PRESETS, typed(row))
    assert found["input_message"] == "" and found["parameters_from_shape"] == int(row["trainable_params"])
    assert found["traced_peak_bytes"] == pytest.approx(int(row["peak_bytes"]), rel=PEAK)
    off = {name: abs(found[name] / int(row[name]) - 1) for name in (*MOMENTS.values(), "after_forward_bytes")}
    assert max(off.values()) < MOMENT, off
    assert found["default_low_bytes"] - found["workspace_bytes"] <= int(row["peak_reserved_bytes"]) <= found["default_high_bytes"] - found["workspace_bytes"]


def test_the_stored_steps_are_of_every_modelled_family_and_every_choice():
    families = {model.name: model.family for model in PRESETS.models}
    assert {families[row["base_model"]] for row in STORED} == set(FAMILIES)
    for name in ("optimizer_choice", "storage_precision", "compute_precision", "activation_checkpointing", "attention_kernel", "training_loop"):
        assert {row[name] for row in STORED} == {choice.name for choice in INPUTS[name].choices}, name
    assert {row["gradient_accumulation_steps"] for row in STORED} >= {"1", "4"}


RUNS = PRESETS.measured["h100-training"].rows


def run(row):
    return estimate(PRESETS, {name: value for name, value in row.items() if name in INPUTS and value is not None})


def test_peaks_measured_on_an_h100():
    """Allocated within 0.5% (the article: 2.2%), the peak of forward too; reserved inside the band."""
    completed = [row for row in RUNS if row["measured_outcome"] == "ok"]
    assert len(completed) == 11
    for row in completed:
        found = run(row)
        assert found["peak_allocated_gb"] == pytest.approx(row["measured_peak_allocated_gb"], rel=0.003), row["run"]
        assert found["peak_forward_gb"] + found["matmul_workspace_gb"] == pytest.approx(row["measured_peak_forward_gb"], rel=0.0005), row["run"]
        assert found["reserved_low_gb"] <= row["measured_peak_reserved_gb"] <= found["reserved_high_gb"], row["run"]
        assert found["weights_bytes"] == row["measured_weights_bytes"] and found["gradients_bytes"] == row["measured_gradients_bytes"]
        # The measurement adds the counter of each of 243 tensors, and counts the table of 8-bit Adam that they share once for each.
        beside = 4 * 243 if row["optimizer_choice"] == "Adam" else 1024 * 244
        assert row["measured_optimizer_states_bytes"] - found["optimizer_states_bytes"] == beside, row["run"]


def test_every_out_of_memory_call_is_right():
    """Batch 256 at 1,024 tokens with checkpointing is TIGHT: allocated it would be within the card, and the default allocator ran out."""
    for row in RUNS:
        found = run(row)
        assert (found["fit_verdict"] == "✓ FITS") == (row["measured_outcome"] == "ok"), row["run"]
        assert (found["article_fit_verdict"] == "✓ FITS") == (row["measured_outcome"] == "ok"), row["run"]


def test_pure_bf16_with_adam_holds_ten_bytes_a_parameter_in_the_step():
    """Weights 2, gradients 2, moments 4, temporaries 2, and what the loop still holds: ids, logits and a KV cache."""
    found = estimate(PRESETS, {
        "base_model": "Mistral 7B v0.1", "storage_precision": "BF16", "compute_precision": "As stored, no autocast", "batch_size": 4, "sequence_length": 512,
        "activation_checkpointing": "On", "training_loop": "Hugging Face Trainer",
    })
    left = found["optimizer_step_bytes"] - 10 * found["parameters"]
    assert left == found["token_ids_bytes"] + found["output_bytes"] and found["peak_moment"] == "Optimizer step"
    assert found["optimizer_step_bytes"] / GB == pytest.approx(72.5, abs=0.1)


@pytest.mark.trace
@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_jobs_of_a_family(family):
    """Steps of few layers, traced now: the peak, and the count of parameters."""
    if message := not_installed():
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    from tests.tracer.full import trace

    seed = os.environ["TRACE_SEED"]
    for number in range(DRAWN):
        inputs = draw(PRESETS, Random(f"{seed} full {family} {number}"), family)
        print(f"TRACE_SEED={seed}, {family}, job {number}: {inputs}")
        traced, found = trace(job(PRESETS, inputs)), estimate(PRESETS, inputs)
        for moment, peak in traced.peaks.items():
            print(f"{moment}: traced {peak:,}, reference {found[MOMENTS[moment]]:,.0f}")
        assert found["traced_peak_bytes"] == pytest.approx(max(traced.peaks.values()), rel=FRESH)
        assert found["parameters_from_shape"] == traced.trainable
