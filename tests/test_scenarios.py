"""The scenarios are valid, reach what they promise, and are the same every time; the bad inputs are all refused."""
from __future__ import annotations

from itertools import combinations

import pytest

from builder import presets as preset_files
from builder.reference import estimate
from tests.scenarios import bad_inputs, scenarios, takes_for_number

PRESETS = preset_files.load()
INPUTS = {spec.name: spec for spec in PRESETS.inputs}
JOBS = scenarios(PRESETS, count=300, seed=1)
NOT_COVERED = "not covered by the article"


def typed(name: str) -> list[object]:
    return [job[name] for job in JOBS]


def test_as_many_as_asked_for_and_never_less_than_needed():
    assert len(JOBS) == 300
    assert 100 < len(scenarios(PRESETS, count=0, seed=1)) < 250


def test_the_same_seed_gives_the_same_jobs():
    assert JOBS == scenarios(PRESETS, count=300, seed=1)
    assert JOBS != scenarios(PRESETS, count=300, seed=2)


def test_every_job_types_every_input_and_is_valid():
    for job in JOBS:
        assert list(sorted(job)) == sorted(INPUTS)
        assert estimate(PRESETS, job)["input_message"] == ""


def test_most_jobs_are_covered_by_the_article_and_both_verdicts_occur():
    verdicts = [estimate(PRESETS, job)["article_fit_verdict"] for job in JOBS]
    assert verdicts.count(NOT_COVERED) < 0.5 * len(JOBS)
    assert min(verdicts.count(verdict) for verdict in ("✓ FITS", "✗ DOES NOT FIT", NOT_COVERED)) > 30


def test_every_moment_of_the_peak_occurs():
    moments = {estimate(PRESETS, job)["article_peak_moment"] for job in JOBS}
    assert moments == {"Start of backward", "Inside a layer's backward", "Optimizer step", "Forward", NOT_COVERED}


def test_every_model_and_every_card_occurs():
    assert set(typed("base_model")) == {model.name for model in PRESETS.models}
    assert set(typed("gpu_card")) == {card.name for card in PRESETS.cards}


def test_every_pair_of_choices_occurs():
    specs = [spec for spec in PRESETS.inputs if spec.kind == "choice"]
    for one, other in combinations(specs, 2):
        expected = {(a, b) for a in choices(one) for b in choices(other)}
        expected -= {("Custom", None)} if one.name == "lora_targets" and other.name == "target_q" else set()  # q is what completes Custom
        assert expected <= set(zip(typed(one.name), typed(other.name), strict=True)), (one.name, other.name)


def choices(spec) -> list[str | None]:
    return [choice.name for choice in spec.choices] + ([None] if spec.blank == "allowed" else [])


def test_every_number_meets_its_bounds_and_blank():
    for spec in PRESETS.inputs:
        if spec.kind in ("whole", "number"):
            values = set(typed(spec.name))
            assert spec.minimum is None or spec.minimum in values
            inside = 1 if spec.kind == "whole" else 1e-9
            assert spec.maximum is None or {spec.maximum, spec.maximum - inside} <= values
            assert (None in values) == (spec.blank == "allowed")
            assert len(values - {None}) > 10


def test_adapters_on_all_layers_but_none_and_one():
    layers = {model.name: model.shape.layers for model in PRESETS.models}
    left = {layers[job["base_model"]] - job["adapter_top_layers"] for job in JOBS if job["adapter_top_layers"] and not job["layers_override"]}
    assert {0, 1} <= left


@pytest.mark.parametrize("name, value", bad_inputs(PRESETS))
def test_a_bad_input_is_refused(name, value):
    found = estimate(PRESETS, {name: value})
    assert found["article_fit_verdict"] == "CHECK INPUTS"
    assert found["input_message"].startswith(INPUTS[name].message)


def test_every_input_has_bad_values_of_every_kind():
    for spec in PRESETS.inputs:
        values = [value for name, value in bad_inputs(PRESETS) if name == spec.name]
        assert {" ", "40 GB", "*", "?", -8} <= set(values) and any(value is True for value in values)
        assert (None in values) == (spec.blank == "message")


def test_what_engines_take_for_numbers():
    assert takes_for_number("libreoffice", True) and not takes_for_number("formualizer", True) and not takes_for_number("libreoffice", 1)
    assert takes_for_number("formulas", "8") and not takes_for_number("formulas", "40 GB") and not takes_for_number("formualizer", "8")
