"""Every quantity of a training job under both accountings, in the order in which the workbook computes them."""

from __future__ import annotations

from dataclasses import fields
from typing import Mapping

from builder.presets import Presets
from builder.reference import (
    article_activations,
    article_verdict,
    card,
    card_notes,
    input_notes,
    inputs,
    largest,
    ledger_compared,
    ledger_total,
    parameter_count,
    shape,
    training_article_estimate,
    training_article_scope,
    training_ledger,
)
from builder.reference.inputs import Refusal
from builder.reference.place import place_of
from builder.reference.training_job import TrainingJob

ITEMS = {
    "weights": "weights_bytes",
    "gradients": "gradients_at_peak_bytes",
    "optimizer_states": "optimizer_states_bytes",
    "weight_cache": "weight_cache_at_peak_bytes",
    "activations": "activations_at_peak_bytes",
    "matmul_workspace": "workspace_bytes",
}
"""Line items, and the quantities that they show."""
KNOWN = ("activations_modelled", "weights_bytes", "gradients_bytes", "optimizer_states_bytes", "held_bytes", "held_gb", "workspace_bytes", "context_bytes")
"""Quantities that are known of a job whose training is not modelled, beside the public outputs."""
PUBLIC_OUTPUTS = (
    *ledger_total.outputs(ITEMS), *largest.OUTPUTS, "gpu_capacity_gb", *article_verdict.outputs(training_article_estimate.ITEMS), "input_message"
)
"""Every output that users rely on, in the order in which the command line prints them."""
ESTIMATE_OUTPUTS = tuple(name for name in PUBLIC_OUTPUTS if name not in largest.OUTPUTS)
"""Those that `estimate` gives; the largest batch and sequence take many estimates."""


def estimate(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity by public name, of the job that `typed` describes, as `books.estimate` says."""
    job = inputs.read(presets, typed)
    if isinstance(job, Refusal):
        return {
            **dict.fromkeys(quantity_names(presets), None),
            **article_verdict.check_inputs(training_article_estimate.ITEMS),
            "fit_verdict": article_verdict.CHECK_INPUTS,
            "input_message": job.input_message,
        }
    shared = general(presets, job)
    values = {**shared, **ledger(job, shared), "input_message": ""}
    if values["article_covered"]:
        values |= article(presets, job, values)
        return {**values, **(compared(values) if job.modelled else {})}
    return {**dict.fromkeys(quantity_names(presets), None), **values, **article_verdict.not_covered(training_article_estimate.ITEMS)}


def quantity_names(presets: Presets) -> tuple[str, ...]:
    """The names of every quantity, in order: those of the job with every input at its default, which the article covers."""
    job = inputs.read(presets, {})
    values = general(presets, job)
    values |= ledger(job, values)
    values |= article(presets, job, values)
    return (*values, *compared(values), "input_message")


def ledger(job: TrainingJob, shared: Mapping[str, float]) -> dict[str, float | str]:
    """The ledger's quantities, totals and verdict included."""
    found = training_ledger.quantities(job, shared)
    found |= ledger_total.quantities(found, place_of(job), ITEMS)
    if job.modelled:
        return found
    return {name: value if name in (*KNOWN, *ledger_total.outputs(ITEMS)) else None for name, value in found.items()}


def compared(values: Mapping[str, float]) -> dict[str, float | str]:
    """Where the two accountings differ."""
    return ledger_compared.quantities(values, ledger_compared.training_differences(values), ledger_compared.TRAINING_NAMES)


def general(presets: Presets, job: TrainingJob) -> dict[str, float]:
    """The quantities that both accountings share, and whether the article covers the job."""
    preset = shape.Shape(**{field.name: getattr(job.model.shape, field.name) for field in fields(shape.Shape)})
    used = shape.quantities(preset, job.shape, job.model.parameters.value, job.parameters_override, job.model)
    counted = parameter_count.quantities(job.shape, job.model.shape, job.family)
    bytes_per_gb = presets.constants["bytes_per_gb"].value
    of_card = card_notes.quantities(job, bytes_per_gb)
    texts = {name: presets.constants[name].value for name in (*input_notes.TEXTS, *card_notes.TEXTS)}
    covered = training_article_scope.is_covered(
        storage_precision=job.storage_precision,
        optimizer_choice=job.optimizer_choice,
        attention_kernel=job.attention_kernel,
        dropout_rate=job.dropout_rate,
        family=job.family,
    )
    applying = {
        "note_shape": used["parameters"] != counted["parameters_from_shape"],
        "note_estimate": job.card.memory.estimate and job.gpu_capacity_override_gb is None,
        "note_eager": job.family.eager_only and job.attention_kernel != "Eager",
        "note_positions": job.sequence_length > (job.model.shape.learned_positions or job.sequence_length),
    }
    return {
        **used,
        **counted,
        "input_notes": input_notes.said(applying, texts) + card_notes.notes(job, of_card, texts),
        **of_card,
        **card.quantities(job.card.memory.usable_mib, job.gpu_capacity_override_gb, bytes_per_gb),
        "tokens_per_step": article_activations.tokens_per_step(job.batch_size, job.sequence_length),
        **training_article_scope.quantities(covered, job.compute_precision),
    }


def article(presets: Presets, job: TrainingJob, values: Mapping[str, float]) -> dict[str, float | str]:
    """The article's quantities of a job that it covers; `values` are those of `general`."""
    constants = {name: presets.constants[name].value for name in ("bytes_fp32", "bytes_per_gb", "article_context_gb")}
    encoder = training_article_estimate.Encoder(
        hidden_size=job.shape.hidden_size,
        layers=job.shape.layers,
        feed_forward=job.shape.feed_forward,
        vocabulary=job.shape.vocabulary,
        parameters=values["parameters"],
    )
    return training_article_estimate.quantities(
        encoder,
        tokens=values["tokens_per_step"],
        compute_precision=job.compute_precision,
        optimizer_choice=job.optimizer_choice,
        checkpointing=job.checkpointing,
        capacity_gb=values["gpu_capacity_gb"],
        already_used_gb=job.memory_already_used_gb,
        constants=training_article_estimate.Constants(
            bytes_fp32=constants["bytes_fp32"], bytes_per_gb=constants["bytes_per_gb"], context_gb=constants["article_context_gb"],
        ),
    )
