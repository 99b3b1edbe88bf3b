"""The ledger of a job: every line item in the order in which the workbook computes them."""

from __future__ import annotations

from builder.reference import (
    ledger_backward,
    ledger_band,
    ledger_choices,
    ledger_first_layer,
    ledger_forward,
    ledger_frozen_base,
    ledger_inputs,
    ledger_loss,
    ledger_modelled,
    ledger_peak,
    ledger_points,
    ledger_projections,
    ledger_reserved,
    ledger_saved,
    ledger_standing,
    ledger_states,
    ledger_total,
    ledger_types,
)
from builder.reference.adapters import FUSED, PROJECTIONS
from builder.reference.finetune_job import Job
from builder.reference.ledger_choices import Step
from builder.reference.place import place_of


def targets(values: dict[str, float]) -> frozenset[str]:
    """Projections with an adapter of their own; a fused one in place of its parts."""
    return frozenset(name for name in (*PROJECTIONS, *FUSED, "router") if values[f"{name}_adapter_width"] > 0)


def step_of(job: Job, values: dict[str, float]) -> Step:
    """The training step of a valid job; `values` are those that both accountings share."""
    return ledger_choices.step_of(job, targets(values), values["adapter_layers"])


def quantities(job: Job, values: dict[str, float]) -> dict[str, float | str]:
    """The ledger's quantities of a valid job."""
    return of_step(step_of(job, values), job, values)


def of_step(step: Step, job: Job, values: dict[str, float]) -> dict[str, float | str]:
    """The same of a step that need not be the job's own: other tokens, another sequence."""
    parameters = values["parameters_from_shape"] if job.parameters_override is None else job.parameters_override
    saved = ledger_saved.saved_by_layer(step)
    found: dict[str, float | str] = {
        **ledger_modelled.quantities(job.modelled, step.autocast),
        **ledger_choices.quantities(step),
        **ledger_types.quantities(step),
        **ledger_inputs.quantities(step),
        **ledger_frozen_base.quantities(step, parameters),
        **ledger_saved.quantities(step, saved),
        **ledger_first_layer.quantities(step, saved),
        **ledger_projections.quantities(step),
    }
    found |= ledger_states.quantities(step, found["frozen_base_bytes"])
    held, casts = found["held_bytes"], found["adapter_casts_bytes"]
    standing = ledger_standing.quantities(step, saved, held, casts, found["first_layer_unsaved_bytes"])
    found |= standing
    found |= ledger_loss.quantities(step, standing, held, casts, saved.final_norm)
    found |= ledger_forward.quantities(step, saved, standing, found["idle_unsaved_bytes"])
    found |= ledger_backward.quantities(step, saved, found)
    found |= ledger_peak.quantities(step, found, job.card.compute_capability)
    found |= ledger_points.quantities(step, found)
    found |= ledger_reserved.quantities(step, found)
    found |= ledger_band.quantities(found, job.expandable)
    return found | ledger_total.quantities(found, place_of(job))
