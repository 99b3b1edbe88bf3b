"""Every quantity of an inference job, in the order in which the workbook computes them."""

from __future__ import annotations

from dataclasses import fields
from typing import Mapping

from builder.presets import Presets
from builder.reference import (
    card,
    card_notes,
    inference_activations,
    inference_kv_cache,
    inference_largest,
    inference_logits,
    inference_notes,
    inference_total,
    inference_weights,
    inputs,
    parameter_count,
    shape,
)
from builder.reference.inference_job import InferenceJob
from builder.reference.inference_place import place_of
from builder.reference.inputs import Refusal

PUBLIC_OUTPUTS = (
    *inference_total.OUTPUTS[:6], "kv_cache_tokens", *inference_largest.OUTPUTS, "dominant", "kv_dominates_from_tokens",
    *inference_total.OUTPUTS[7:], "input_message",
)
"""Every output that users rely on, in the order in which the command line prints them."""
ESTIMATE_OUTPUTS = PUBLIC_OUTPUTS


def estimate(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity by public name, of the job that `typed` describes.

    `typed` maps public input names to what was typed; an absent name has its default and None is blank. With an invalid input only the
    verdict and `input_message` are given. Raises UsageError when a name is not an input.
    """
    job = inputs.read(presets, typed)
    if isinstance(job, Refusal):
        return {**dict.fromkeys(quantity_names(presets)), **inference_total.check_inputs(), "input_message": job.input_message}
    return quantities(presets, job)


def quantity_names(presets: Presets) -> tuple[str, ...]:
    """The names of every quantity, in order: those of the job with every input at its default."""
    return tuple(quantities(presets, inputs.read(presets, {})))


def quantities(presets: Presets, job: InferenceJob) -> dict[str, object]:
    """Every named quantity of a valid job."""
    values = general(presets, job)
    values |= inference_weights.quantities(job)
    values |= inference_kv_cache.quantities(job)
    values |= inference_activations.quantities(job)
    values |= inference_logits.quantities(job, values["activations_bytes"])
    place = place_of(job)
    values |= inference_total.quantities(job, values, place)
    values |= inference_largest.quantities(job, values["weights_bytes"], values["kv_cache_bytes"], place)
    return {**values, "input_message": ""}


def general(presets: Presets, job: InferenceJob) -> dict[str, object]:
    """Shape, parameters, card and notes, as the other books have them."""
    bytes_per_gb = presets.constants["bytes_per_gb"].value
    preset = shape.Shape(**{field.name: getattr(job.model.shape, field.name) for field in fields(shape.Shape)})
    used = shape.quantities(preset, job.shape, job.model.parameters.value, job.parameters_override, job.model)
    counted = parameter_count.quantities(job.shape, job.model.shape, job.family)
    of_card = card_notes.quantities(job, bytes_per_gb)
    texts = {name: presets.constants[name].value for name in (*inference_notes.TEXTS, *card_notes.TEXTS)}
    differ = used["parameters"] != counted["parameters_from_shape"]
    return {
        **used,
        **counted,
        "input_notes": inference_notes.notes(job, differ, texts) + card_notes.notes(job, of_card, texts),
        **of_card,
        **card.quantities(job.card.memory.usable_mib, job.gpu_capacity_override_gb, bytes_per_gb),
    }
