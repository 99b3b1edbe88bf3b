"""The fine-tuning book: a job's estimate, and what to do about it: the largest batch and sequence, cards, levers, LoRA or QLoRA, example jobs."""

from __future__ import annotations

from typing import Mapping

from builder.presets import Presets
from builder.reference import cheapest_change, crossover, inputs, largest, ledger, scenarios, smallest_card
from builder.reference.finetune_estimate import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS, estimate, general, quantity_names
from builder.reference.finetune_job import Job
from builder.reference.sized import size

SHOWN = {
    "total": "total_gb", "capacity": "gpu_capacity_gb", "headroom": "headroom_gb", "base": "frozen_base_gb", "adapters": "adapter_weights_gb",
    "gradients": "gradients_gb", "states": "optimizer_states_gb", "cache": "autocast_cache_gb", "activations": "activations_gb",
    "workspace": "matmul_workspace_gb", "allocated": "peak_allocated_gb", "overhead": "allocator_overhead_gb", "context": "cuda_context_gb",
}
"""Columns in GB of the Scenarios sheet, and the quantities that they show."""
OTHERS = {"utilization": "utilization", "moment": "peak_moment"}
"""Its columns in other units."""

__all__ = ["ESTIMATE_OUTPUTS", "OTHERS", "PUBLIC_OUTPUTS", "SHOWN", "accounts", "decisions", "estimate", "outputs", "quantity_names"]


def outputs(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity of the estimate, and the four largest; those are None where an input is wrong.

    Raises UsageError when a name is not an input.
    """
    return largest.beside(estimate(presets, typed), inputs.read(presets, typed), lambda job: largest.needs_of(job, general(presets, job)))


def accounts(presets: Presets, job: Job) -> tuple[dict[str, float], dict[str, float | str]]:
    """What all accountings share, and what decides."""
    shared = general(presets, job)
    return shared, ledger.quantities(job, shared)


def decisions(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Of a valid job, everything that Levers, Cards, QLoRA crossover and Scenarios show, by the name of the cell or column.

    A column is a list in the order of its sheet, without free rows; a cell that shows nothing is an empty text. None is what only
    lies beyond the last place: no card holds it. Raises ValueError for a job with an invalid input, or of a model whose activations
    are not modelled: those sheets give no figure for it.
    """
    sized = size(presets, typed)
    if not sized.modelled:
        raise ValueError(f"the activations of {sized.job.model.name} are not modelled")
    cards, needs = smallest_card.in_order(presets, sized.job), largest.needs_of(sized.job, sized.shared)
    return {
        **largest.quantities(sized.job, needs),
        **smallest_card.quantities(presets, sized, cards, needs),
        **cheapest_change.quantities(presets, typed, sized),
        **crossover.quantities(presets, typed, cards),
        **scenarios.quantities(presets, typed),
    }
