"""The article of the training book: its reference gives every published figure of the article's own runs, its worked configuration and its fit table.

Published figures: the article's table of 24 runs on one H100 (tests/data/h100-training.csv, columns article_*) and its text.
"""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest

from builder.reference import article_peak, article_total, article_verdict, training_article_scope
from builder.reference.training_article_activations import tokens_per_step
from builder.reference.training_article_estimate import Constants, Encoder, quantities
from builder.strict_yaml import load
from builder.template import ROOT

DATA = Path(__file__).parent / "data"
CONSTANTS = Constants(bytes_fp32=4, bytes_per_gb=10**9, context_gb=0.6)
CAPACITY_GB = 79.18 * 2**30 / 10**9
"""What torch reported of the card measured."""
FITS, DOES_NOT_FIT = "✓ FITS", "✗ DOES NOT FIT"
NOT_COVERED = "not covered by the article"
BF16, FP32 = "BF16 mixed precision", "As stored, no autocast"
MEASURED, OUT_OF_MEMORY = 1_011_262_440, 1_010_728_960
"""Parameters of the worked model: as counted in a run, and as the article takes them for one out of memory."""
ITEMS = ("article_weights", "article_gradients", "article_optimizer_states", "article_weight_cache", "article_activations")
PUBLISHED = {
    "article_weights_gb": "article_weights_gb",
    "article_gradients_gb": "article_gradients_gb",
    "article_optimizer_gb": "article_optimizer_states_gb",
    "article_cache_gb": "article_weight_cache_gb",
    "article_activations_gb": "article_activations_gb",
    "article_peak_allocated_gb": "article_peak_allocated_gb",
    "article_total_gb": "article_total_gb",
}
"""Column of the table -> quantity."""


def worked(
    batch=256, sequence=100, *, parameters=MEASURED, precision=BF16, optimizer="Adam", checkpointing=False, feed_forward=8192, capacity=CAPACITY_GB, used=0
):
    """The article of its worked configuration with these settings changed."""
    return quantities(
        Encoder(hidden_size=2048, layers=20, feed_forward=feed_forward, vocabulary=1000, parameters=parameters),
        tokens=tokens_per_step(batch, sequence),
        compute_precision=precision,
        optimizer_choice=optimizer,
        checkpointing=checkpointing,
        capacity_gb=capacity,
        already_used_gb=used,
        constants=CONSTANTS,
    )


def runs() -> list[dict[str, str]]:
    """The rows of the article's table."""
    with open(DATA / "h100-training.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_run(row: dict[str, str]):
    """The article's quantities of a run."""
    hidden = int(row["hidden"])
    return quantities(
        Encoder(
            hidden_size=hidden,
            layers=int(row["layers"]),
            feed_forward=hidden * int(row["ff_mult"]),
            vocabulary=int(row["vocab"]),
            parameters=int(row["params"]),
        ),
        tokens=tokens_per_step(int(row["batch"]), int(row["seq"])),
        compute_precision={"amp_bf16": BF16, "fp32": FP32}[row["precision"]],
        optimizer_choice={"adam": "Adam", "adam8bit": "8-bit Adam"}[row["optimizer"]],
        checkpointing=row["checkpointing"] == "true",
        capacity_gb=CAPACITY_GB,
        already_used_gb=0,
        constants=CONSTANTS,
    )


def run_id(row: dict[str, str]) -> str:
    return f"{row['lever']}-{row['lever_value']}"


# Published figures


def test_the_table_is_whole():
    assert len(runs()) == 24 and set(PUBLISHED) | {"article_oom"} == {column for column in runs()[0] if column.startswith("article_")}


@pytest.mark.parametrize("row", runs(), ids=run_id)
def test_every_published_run_to_the_last_printed_digit(row):
    result = of_run(row)
    assert {column: round(result[name], 4) for column, name in PUBLISHED.items()} == {column: float(row[column]) for column in PUBLISHED}
    assert result["article_fit_verdict"] == (DOES_NOT_FIT if row["article_oom"] == "true" else FITS)
    assert (row["outcome"] == "oom") == (row["article_oom"] == "true"), "the article calls every run of its own sweep right"


@pytest.mark.parametrize("row", [row for row in runs() if row["outcome"] == "ok"], ids=run_id)
def test_the_article_is_as_near_the_measured_runs_as_it_says(row):
    result = of_run(row)
    assert result["article_peak_allocated_gb"] == pytest.approx(float(row["peak_allocated_gb"]), rel=0.022)
    assert result["article_weights_bytes"] == int(row["weight_bytes"])
    assert result["article_gradients_bytes"] == int(row["gradient_bytes"])


def test_the_worked_configuration():
    off, on = worked(), worked(checkpointing=True)
    for result in (off, on):
        assert [f"{result[f'{item}_gb']:.1f}" for item in ITEMS[:4]] == ["4.0", "4.0", "8.1", "2.0"]
    assert (f"{off['article_activations_gb']:.1f}", f"{on['article_activations_gb']:.1f}") == ("42.2", "6.9")
    assert (off["article_peak_moment"], on["article_peak_moment"]) == ("Start of backward", "Optimizer step")
    assert on["article_peak_allocated_bytes"] == 20 * MEASURED, "the floor of 20 bytes a parameter"
    assert f"{20 * 25_600 * 2048 * 4 / 1e9:.1f}" == "4.2" and on["article_boundary_bytes"] * 20 == 20 * 25_600 * 2048 * 4
    assert f"{worked(128)['article_activations_gb']:.1f}" == "21.1"
    assert worked(precision=FP32)["article_activations_gb"] / off["article_activations_gb"] == pytest.approx(1.85, abs=0.005)
    assert off["article_peak_allocated_gb"] - worked(optimizer="8-bit Adam")["article_peak_allocated_gb"] == pytest.approx(6.04, rel=0.005)


def test_forty_bytes_an_element_and_layer():
    result = worked()
    assert result["article_layer_bytes"] / result["article_stream_elements"] == 40


@pytest.mark.parametrize(("batch", "sequence", "checkpointing", "total", "verdict"), [
    (256, 100, False, 62.2, FITS), (1024, 100, False, 188.8, DOES_NOT_FIT),
    (1024, 100, True, 45.6, FITS), (4096, 100, True, 128.6, DOES_NOT_FIT),
    (256, 512, False, 236.1, DOES_NOT_FIT),
    (256, 512, True, 53.4, FITS), (256, 1024, True, 88.8, DOES_NOT_FIT),
])
def test_the_fit_table(batch, sequence, checkpointing, total, verdict):
    parameters = MEASURED if verdict == FITS else OUT_OF_MEMORY
    result = worked(batch, sequence, parameters=parameters, checkpointing=checkpointing)
    assert (f"{result['article_total_gb']:.1f}", result["article_fit_verdict"]) == (f"{total:.1f}", verdict)
    assert (result["article_headroom_gb"] >= 0) == (verdict == FITS) == (result["article_utilization"] <= 1)


def test_the_wall_of_the_sequence():
    totals = [worked(256, sequence, parameters=OUT_OF_MEMORY)["article_total_gb"] for sequence in (512, 1024, 2048)]
    assert [f"{total:.0f}" for total in totals] == ["236", "452", "884"]


# The moments


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("optimizer", ["Adam", "8-bit Adam"])
@pytest.mark.parametrize("batch", [1, 256, 1024, 4096])
@pytest.mark.parametrize("feed_forward", [512, 8192])
def test_the_items_at_the_peak_add_up_to_it(checkpointing, optimizer, batch, feed_forward):
    result = worked(batch, optimizer=optimizer, checkpointing=checkpointing, feed_forward=feed_forward)
    assert sum(result[f"{item}_at_peak_bytes"] for item in ITEMS) == pytest.approx(result["article_peak_allocated_bytes"], rel=1e-12)
    assert [result[f"article_peak_is_{moment}"] for moment in ("backward", "optimizer", "forward")].count(1) == 1
    assert result["article_peak_allocated_bytes"] == max(result[f"article_peak_{moment}_bytes"] for moment in ("backward", "optimizer", "forward"))


@pytest.mark.parametrize(("changes", "moment", "counted"), [
    ({}, "Start of backward", set(ITEMS)),
    ({"checkpointing": True}, "Optimizer step", set(ITEMS[:3])),
    ({"checkpointing": True, "batch": 1024}, "Inside a layer's backward", {"article_weights", "article_optimizer_states", "article_activations"}),
    ({"checkpointing": True, "optimizer": "8-bit Adam"}, "Forward", set(ITEMS) - {"article_gradients"}),
])
def test_each_moment_sets_the_peak_of_some_job(changes, moment, counted):
    result = worked(**changes)
    assert result["article_peak_moment"] == moment
    assert {item for item in ITEMS if result[f"{item}_at_peak_bytes"]} == counted


def test_moments_that_are_equal_are_named_in_order():
    items = article_peak.Items(
        standing={"article_weights": 0, "article_optimizer_states": 0}, gradients=5, cache_name="article_weight_cache", cache=4, activations=5,
        activations_forward=1, optimizer_choice="8-bit Adam",
    )
    peak = article_peak.quantities(items, True)
    assert [peak[f"article_peak_is_{moment}"] for moment in ("backward", "optimizer", "forward")] == [1, 0, 0]
    assert article_peak.moment_of_peak(4, 5, 5) == article_peak.OPTIMIZER


def test_without_checkpointing_the_peak_is_not_split():
    off, on = worked(), worked(checkpointing=True)
    assert off["article_peak_forward_gb"] == off["article_peak_optimizer_gb"] == NOT_COVERED
    assert off["article_peak_backward_gb"] == off["article_peak_allocated_gb"]
    assert [f"{on[f'article_peak_{moment}_gb']:.2f}" for moment in ("forward", "backward", "optimizer")] == ["19.66", "19.05", "20.23"]


# The total


def test_the_two_allowances():
    off, on = worked(), worked(checkpointing=True)
    assert (off["article_allocator_overhead_gb"], on["article_allocator_overhead_gb"]) == (1.2, 5.2)
    for result in (off, on):
        assert result["article_cuda_context_gb"] == 0.6
        assert result["article_total_gb"] == pytest.approx(result["article_peak_allocated_gb"] + result["article_allocator_overhead_gb"] + 0.6)
    assert worked(used=7)["article_total_gb"] == pytest.approx(off["article_total_gb"] + 7)
    assert article_total.allocator_overhead_gb(True) == 5.2


def test_the_capacity_itself_still_fits():
    total = worked()["article_total_gb"]
    assert worked(capacity=total)["article_fit_verdict"] == FITS
    assert worked(capacity=total * (1 - 1e-12))["article_fit_verdict"] == DOES_NOT_FIT


# The scope

ENCODER = SimpleNamespace(layer_norm=True, relu=True, gated_mlp=False, model_dropout=0.1)
LLAMA = SimpleNamespace(layer_norm=False, relu=False, gated_mlp=True, model_dropout=0)
GPT2 = SimpleNamespace(layer_norm=True, relu=False, gated_mlp=False, model_dropout=0.1)
COVERED = {"storage_precision": "FP32", "optimizer_choice": "Adam", "attention_kernel": "Flash / SDPA", "dropout_rate": None, "family": ENCODER}


@pytest.mark.parametrize(("changes", "covered"), [
    ({}, True),
    ({"optimizer_choice": "8-bit Adam"}, True),
    ({"dropout_rate": 0.5}, True),
    ({"dropout_rate": 0}, False),
    ({"storage_precision": "BF16"}, False),
    ({"attention_kernel": "Eager"}, False),
    ({"family": LLAMA}, False),
    ({"family": LLAMA, "dropout_rate": 0.1}, False),
    ({"family": GPT2}, False),
    *(({"optimizer_choice": optimizer}, False) for optimizer in ("Adam fused", "SGD", "SGD momentum", "Adafactor")),
])
def test_the_scope(changes, covered):
    assert training_article_scope.is_covered(**COVERED | changes) is covered


def test_what_is_shown_outside_the_scope():
    outputs = article_verdict.outputs(ITEMS)
    assert article_verdict.not_covered(ITEMS) == dict.fromkeys(outputs, NOT_COVERED)
    assert article_verdict.check_inputs(ITEMS) == {**dict.fromkeys(outputs), "article_fit_verdict": "CHECK INPUTS"}
    assert set(outputs) <= set(worked())
    assert training_article_scope.quantities(True, FP32) == {"article_covered": 1, "article_compute_bytes": 4, "article_autocast": 0}


# The templates' names


def test_the_templates_have_the_quantities_of_the_reference():
    """Peak, total and verdict stand in lines that the fine-tuning book has as well; that of the total has its sums in GB only."""
    paths = [*(ROOT / "lines").glob("training_article_*.yaml"), *(ROOT / "lines" / f"article_{line}.yaml" for line in ("peak", "total", "verdict"))]
    rows = [row["name"] for path in paths for row in load(path).data["rows"] if "training" in row.get("books", ["training"])]
    assert len(rows) == len(set(rows)) and len(paths) == 9
    expected = set(worked()) | set(training_article_scope.quantities(True, BF16))
    assert expected - set(rows) == {"article_peak_reserved_bytes", "article_total_bytes"}
    assert set(article_verdict.outputs(ITEMS)) <= set(rows)
