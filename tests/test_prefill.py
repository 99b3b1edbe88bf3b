"""Activations and weights of the inference reference against 30 traced prefill chunks: every row of tests/data/prefill-traces.csv."""
import csv
from dataclasses import fields, replace
from pathlib import Path

import pytest

from builder.presets import load
from builder.reference import inference_activations, inference_weights, inputs
from builder.reference.shape import Shape

FILE = Path(__file__).parent / "data" / "prefill-traces.csv"
ROWS = list(csv.DictReader(FILE.open(newline="", encoding="utf-8")))
ACTIVATIONS, WEIGHTS = 0.001, 0.0001  # relative tolerances
FRESH = [("qwen2.5-0.5b", 640), ("gemma-3-1b", 384), ("pythia-160m", 256), ("olmo-2-7b", 128), ("falcon-7b", 96)]


@pytest.fixture(scope="module")
def presets():
    return load(book="inference")


def job_of(presets, slug, tokens):
    model = next(model for model in presets.models if model.slug == slug)
    return inputs.read(presets, {"base_model": model.name, "prefill_chunk_tokens": tokens, "concurrent_sequences": 1})


def test_the_rows_are_complete(presets):
    assert len(ROWS) == len({(row["model"], row["tokens"]) for row in ROWS}) == 30
    dense = {model.family for model in presets.models if not presets.families[model.family].experts}
    assert {model.family for model in presets.models if model.slug in {row["model"] for row in ROWS}} == dense


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}, {row['tokens']}")
def test_the_reference_gives_a_traced_row(row, presets):
    job = job_of(presets, row["model"], int(row["tokens"]))
    traced = max(int(row["layers_bytes"]), int(row["head_bytes"]))
    assert inference_activations.quantities(job)["activations_bytes"] == pytest.approx(traced, rel=ACTIVATIONS)
    assert inference_weights.quantities(job)["weights_bytes"] == pytest.approx(int(row["weights_bytes"]), rel=WEIGHTS)


@pytest.mark.trace
@pytest.mark.parametrize("slug, tokens", FRESH)
def test_a_fresh_trace_of_few_layers_agrees(slug, tokens, presets):
    from tests.tracer.prefill import prefill  # the extra `trace`, which `make trace` sets up

    job = job_of(presets, slug, tokens)
    shape = replace(Shape(**{field.name: getattr(job.shape, field.name) for field in fields(Shape)}), layers=max(2, job.model.full_attention_every))
    found = prefill(job.model, job.family, shape, tokens)
    reference = inference_activations.activations_bytes(replace(job, shape=shape), tokens)
    assert reference == pytest.approx(found.activations, rel=ACTIVATIONS)
