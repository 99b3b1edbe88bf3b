"""The training book: a job's estimate, and what to do about it: the largest batch and sequence, cards, levers, example jobs."""

from __future__ import annotations

from typing import Mapping

from builder.presets import Presets
from builder.reference import cheapest_change, inputs, largest, scenarios, smallest_card
from builder.reference.sized import size
from builder.reference.training_estimate import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS, estimate, general, ledger, quantity_names
from builder.reference.training_job import TrainingJob
from builder.reference.training_largest import needs_of

SHOWN = {
    "total": "total_gb", "capacity": "gpu_capacity_gb", "headroom": "headroom_gb", "weights": "weights_gb", "gradients": "gradients_gb",
    "states": "optimizer_states_gb", "cache": "weight_cache_gb", "activations": "activations_gb", "workspace": "matmul_workspace_gb",
    "allocated": "peak_allocated_gb", "overhead": "allocator_overhead_gb", "context": "cuda_context_gb",
}
"""Columns in GB of the Scenarios sheet, and the quantities that they show."""
OTHERS = {"utilization": "utilization", "moment": "peak_moment"}
"""Its columns in other units."""

__all__ = ["ESTIMATE_OUTPUTS", "OTHERS", "PUBLIC_OUTPUTS", "SHOWN", "accounts", "decisions", "estimate", "outputs", "quantity_names"]


def outputs(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity of the estimate, and the four largest; those are None where an input is wrong.

    Raises UsageError when a name is not an input.
    """
    return largest.beside(estimate(presets, typed), inputs.read(presets, typed), lambda job: needs_of(job, general(presets, job)))


def accounts(presets: Presets, job: TrainingJob) -> tuple[dict[str, float], dict[str, float | str]]:
    """What all accountings share, and what decides."""
    shared = general(presets, job)
    return shared, ledger(job, shared)


def decisions(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Of a valid job, everything that Levers, Cards and Scenarios show, by the name of the cell or column.

    A column is a list in the order of its sheet, without free rows; a cell that shows nothing is an empty text. Raises ValueError for
    a job with an invalid input, or of a model whose training is not modelled: those sheets give no figure for it.
    """
    sized = size(presets, typed)
    if not sized.modelled:
        raise ValueError(f"the training of {sized.job.model.name} is not modelled")
    cards, needs = smallest_card.in_order(presets, sized.job), needs_of(sized.job, sized.shared)
    return {
        **largest.quantities(sized.job, needs),
        **smallest_card.quantities(presets, sized, cards, needs),
        "sweep_article_gb": article_sweep(presets, typed),
        **cheapest_change.quantities(presets, typed, sized),
        **scenarios.quantities(presets, typed),
    }


def article_sweep(presets: Presets, typed: Mapping[str, object]) -> list[float]:
    """What the article says of the job at the sequences of the chart, GB; 0 where it does not cover it."""
    found = [estimate(presets, {**typed, "sequence_length": choice.value}) for choice in presets.choices["sequence_sweep"].choices]
    return [each["article_total_gb"] if each["article_covered"] else 0 for each in found]
