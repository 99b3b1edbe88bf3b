"""Real training steps, traced without a GPU: jobs drawn at random, jobs of every kind, and rows of the traced table.

`make trace` runs them. TRACE_SEED=<number> draws the jobs of an earlier run again; the seed is printed at the end of each run.
"""
import os
from random import Random

import pytest

from builder.book import build
from builder.presets import load
from builder.reference import estimate, ledger_peak
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS
from builder.verify import compare, names_in_both
from tests.tracer import not_installed
from tests.tracer.draw import draw, modelled
from tests.tracer.rows import label, rows, typed, without_windows

pytestmark = [
    pytest.mark.trace,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of transformers' own calls
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:fan_in_fan_out is set:UserWarning"),
]

FAMILIES = modelled(load())
DRAWN = 3  # of each family
PEAK, MOMENT, RESERVED = 0.005, 0.01, 0.02  # relative tolerances
WORST = 0.01  # of one job among those of a family; all others are within PEAK


@pytest.fixture(scope="session")
def traced():
    if message := not_installed():
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    from tests.tracer.step import traced

    return traced


@pytest.fixture(scope="session")
def presets():
    return load()


@pytest.fixture(scope="session")
def session(engine_formualizer, tmp_path_factory):
    path = build("finetune", tmp_path_factory.mktemp("trace"), all_scenarios=False).path
    with engine_formualizer.open(path) as session:
        yield session


def compared(job, trace, found) -> dict[str, float]:
    """Relative difference of the reference from the trace by moment; printed, for the report of a failure."""
    tokens, off = job["batch_size"] * job["sequence_length"], {}
    print({name: value for name, value in job.items() if value is not None})
    for moment, peak in trace.peaks.items():
        reference = found[ledger_peak.MOMENTS[moment]]
        off[moment] = reference / peak - 1
        print(f"{moment}: traced {peak:,}, reference {reference:,.0f}, {off[moment]:+.3%}, {(reference - peak) / tokens:+,.1f} bytes per token")
    return off


@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_jobs_of_a_family(family, traced, presets, session):
    """Of few layers, so that what only the first or the top one does weighs more than in a whole model."""
    seed, off = os.environ["TRACE_SEED"], []
    for number in range(DRAWN):
        print(f"TRACE_SEED={seed}, {family}, job {number}")
        job = draw(presets, Random(f"{seed} {family} {number}"), family)
        trace, found = traced(presets, job), estimate(presets, job)
        compared(job, trace, found)
        off.append(abs(found["traced_peak_bytes"] / trace.peak - 1))
        assert found["trainable_parameters"] == trace.trainable
        assert not [row for row in compare(session.evaluate(job, names_in_both(session, found)), found, PUBLIC_OUTPUTS) if not row.agrees]
    assert max(off) < WORST and sorted(off)[-2] < PEAK, off


def test_a_seed_draws_the_same_jobs_and_reaches_every_choice(presets):
    jobs = [draw(presets, Random(f"0 {number}")) for number in range(400)]
    assert jobs == [draw(presets, Random(f"0 {number}")) for number in range(400)]
    for spec in presets.inputs:
        if spec.kind == "choice" and spec.name in jobs[0]:
            assert {job[spec.name] for job in jobs} == {choice.name for choice in spec.choices}, spec.name
    families = {model.name: model.family for model in presets.models}
    assert {families[job["base_model"]] for job in jobs} == set(modelled(presets))
    assert not [job for job in jobs if estimate(presets, job)["input_message"]]


# A job of each kind that the traced table has none of, on four layers of real width.
BASE = {"base_model": "Llama 3.2 1B", "layers_override": 4, "batch_size": 2, "sequence_length": 1024}
KINDS = {
    "INT8": {"base_storage": "INT8"},
    "INT8, prepared, checkpointing": {"base_storage": "INT8", "kbit_preparation": "Yes", "activation_checkpointing": "On"},
    "fused Adam": {"optimizer_choice": "Adam fused"},
    "8-bit Adam": {"optimizer_choice": "8-bit Adam", "lora_rank": 64},
    "SGD": {"optimizer_choice": "SGD"},
    "fused loss": {"loss_kernel": "Fused or chunked"},
    "fused loss, NF4, no autocast": {"loss_kernel": "Fused or chunked", "base_storage": "NF4", "compute_precision": "As stored, no autocast"},
    "BF16 adapters": {"adapter_dtype": "BF16", "compute_precision": "As stored, no autocast"},
    "Gemma 3": {"base_model": "Gemma 3 1B", "layers_override": 12},
    "Gemma 3, eager": {"base_model": "Gemma 3 1B", "layers_override": 6, "attention_kernel": "Eager"},
    "Gemma 2": {"base_model": "Gemma 2 2B"},
    "a window in every layer": {"base_model": "Phi-3 mini 4k", "batch_size": 1, "sequence_length": 4096},
    "a part of the head rotates": {"base_model": "Phi-4 mini"},
    "an adapter on up alone": {"lora_targets": "Custom", "target_up": "Yes"},
    "an adapter on gate alone": {"lora_targets": "Custom", "target_gate": "Yes"},
    "biases": {"base_model": "Qwen2.5-1.5B"},
    "SmolLM3": {"base_model": "SmolLM3 3B"},
    "Granite": {"base_model": "Granite 3.1 2B"},
    "Granite, NF4, checkpointing": {"base_model": "Granite 3.1 2B", "base_storage": "NF4", "lora_targets": "q, v", "activation_checkpointing": "On"},
    "OLMo 2": {"base_model": "OLMo 2 7B"},
    "OLMo 2, INT8, checkpointing": {"base_model": "OLMo 2 7B", "base_storage": "INT8", "activation_checkpointing": "On"},
    "OLMo 2, FP32": {"base_model": "OLMo 2 7B", "base_storage": "FP32", "adapter_top_layers": 1, "lora_targets": "q, k, v, o"},
    "StarCoder2": {"base_model": "StarCoder2 3B"},
    "GPT-NeoX": {"base_model": "Pythia 410M"},
    "GPT-NeoX, INT8, checkpointing": {"base_model": "Pythia 1.4B", "base_storage": "INT8", "activation_checkpointing": "On"},
    "GPT-2": {"base_model": "GPT-2 medium"},
    "GPT-2, NF4, eager": {"base_model": "GPT-2 medium", "base_storage": "NF4", "attention_kernel": "Eager", "sequence_length": 512},
    "Falcon": {"base_model": "Falcon 7B"},
    "Falcon, NF4, eager": {"base_model": "Falcon 7B", "base_storage": "NF4", "attention_kernel": "Eager", "sequence_length": 512},
    "StarCoder2, NF4, eager": {"base_model": "StarCoder2 3B", "base_storage": "NF4", "attention_kernel": "Eager", "sequence_length": 512},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_each_kind(kind, traced, presets):
    job = BASE | KINDS[kind]
    trace, found = traced(presets, job), estimate(presets, job)
    assert abs(found["traced_peak_bytes"] / trace.peak - 1) < PEAK
    assert abs(found["after_forward_bytes"] / trace.after_forward - 1) < MOMENT
    assert not {moment: off for moment, off in compared(job, trace, found).items() if abs(off) > MOMENT}


def sample():
    return rows()[::9]


@pytest.mark.parametrize("row", sample(), ids=label)
def test_a_row_of_the_table_is_traced_again_byte_for_byte(row, traced, presets):
    presets = without_windows(presets, "phi3")
    trace = traced(presets, typed(row, presets))
    assert trace.trainable == int(row["trainable_params"]) and trace.static == int(row["static_bytes"])
    assert trace.after_forward == int(row["after_forward_bytes"])
    assert trace.phases == {phase: int(row[f"peak_{phase}_bytes"]) for phase in ("forward", "backward", "optimizer")}
    assert abs(trace.peak_reserved / int(row["peak_reserved_bytes"]) - 1) < RESERVED
