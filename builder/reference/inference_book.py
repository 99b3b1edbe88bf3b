"""The inference book: a load's estimate, and what to do about it: how many sequences and how long, cards, levers, example loads."""

from __future__ import annotations

from typing import Mapping

from builder.presets import Presets
from builder.reference import cheapest_change, inference_largest, scenarios, smallest_card
from builder.reference.inference_estimate import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS, estimate, quantities, quantity_names
from builder.reference.inference_job import InferenceJob
from builder.reference.inference_place import ServerPlace, place_of
from builder.reference.sized import size

SHOWN = {
    "total": "total_gb", "capacity": "gpu_capacity_gb", "headroom": "headroom_gb", "weights": "weights_gb", "kv": "kv_cache_gb",
    "activations": "activations_gb", "logits": "logits_gb", "runtime": "runtime_gb",
}
"""Columns in GB of the Scenarios sheet, and the quantities that they show."""
OTHERS = {"utilization": "utilization", "sequences": "max_concurrent_sequences", "tokens": "kv_cache_tokens"}
"""Its columns in other units."""

__all__ = ["ESTIMATE_OUTPUTS", "OTHERS", "PUBLIC_OUTPUTS", "SHOWN", "accounts", "decisions", "estimate", "outputs", "quantity_names"]


def outputs(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity of the estimate, which has the largest already. Raises UsageError when a name is not an input."""
    return estimate(presets, typed)


def accounts(presets: Presets, job: InferenceJob) -> tuple[dict[str, float | str], dict[str, float | str]]:
    """What all accountings share, and what decides: here there is one accounting."""
    found = quantities(presets, job)
    return found, found


def decisions(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Of a valid load, everything that Levers, Cards and Scenarios show, by the name of the cell or column.

    A column is a list in the order of its sheet, without free rows; a cell that shows nothing is an empty text. Raises ValueError for
    a load with an invalid input.
    """
    sized = size(presets, typed)
    cards = smallest_card.in_order(presets, sized.job, place_of)

    def largest(place: ServerPlace) -> dict[str, int]:
        weights = sized.ledger["weights_bytes"]
        return {
            "cards_max_sequences": inference_largest.most_sequences(sized.job, weights, place),
            "cards_max_context": inference_largest.most_tokens(sized.job, weights, place),
        }

    def reserve(tokens: int) -> float:
        return inference_largest.need_bytes(sized.job, sized.ledger["weights_bytes"], sized.job.concurrent_sequences, tokens)

    return {
        **smallest_card.short(cards, sized),
        **smallest_card.columns(cards, sized, largest),
        **smallest_card.sweep(presets, cards, place_of(sized.job), reserve),
        **cheapest_change.quantities(presets, typed, sized),
        **scenarios.quantities(presets, typed),
    }
