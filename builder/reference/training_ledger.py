"""The ledger of full training: every line item in the order in which the workbook computes them."""

from __future__ import annotations

from builder.reference import (
    ledger_band,
    ledger_modelled,
    training_backward,
    training_choices,
    training_forward,
    training_loss,
    training_peak,
    training_points,
    training_reserved,
    training_saved,
    training_standing,
    training_states,
)
from builder.reference.training_choices import step_of
from builder.reference.training_job import TrainingJob


def quantities(job: TrainingJob, shared: dict[str, float]) -> dict[str, float | str]:
    """The ledger's quantities of a valid job; `shared` has `parameters_from_shape`."""
    step, from_shape = step_of(job), shared["parameters_from_shape"]
    parameters = from_shape if job.parameters_override is None else job.parameters_override
    found: dict[str, float | str] = ledger_modelled.quantities(job.modelled, step.autocast) | training_choices.quantities(step)
    found |= training_states.quantities(step, job.model.shape, parameters, from_shape)
    found |= training_saved.quantities(step)
    found |= training_standing.quantities(step, found)
    found |= training_forward.quantities(step, found)
    found |= training_loss.quantities(step, found)
    found |= training_backward.quantities(step, found)
    found |= training_peak.quantities(step, found, job.card.compute_capability)
    found |= training_points.quantities(found)
    found |= training_reserved.quantities(step, found)
    return found | ledger_band.quantities(found, job.expandable)
