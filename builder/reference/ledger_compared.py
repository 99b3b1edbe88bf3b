"""Where the two accountings differ: the line item with the largest difference, in bytes, at each one's own peak.

Source: this project's comparison of its two accountings.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from builder.reference.ledger_total import GB, ITEMS

TENTH = 0.1
NAMES = ("the frozen base", "adapters, gradients and states", "the autocast weight cache", "activations and workspace", "allocator overhead and context")
"""Of the groups of line items that are compared, in the order in which equal ones are named; of fine-tuning."""
TRAINING_NAMES = ("the weights", "gradients and optimizer states", "the BF16 weight cache", *NAMES[3:])
"""The same of full training."""


def finetune_differences(values: Mapping[str, float]) -> list[float]:
    """Ledger less article, of all groups but the last."""
    article = {name: values[f"article_{name}_at_peak_bytes"] for name in ITEMS}
    return [
        values["frozen_base_bytes"] - article["frozen_base"],
        values["held_bytes"] - values["frozen_base_bytes"] + values["gradients_at_peak_bytes"]
        - article["adapter_weights"] - article["gradients"] - article["optimizer_states"],
        values["autocast_cache_at_peak_bytes"] - article["autocast_cache"],
        values["activations_at_peak_bytes"] + values["workspace_bytes"] - article["activations"] - article["matmul_workspace"],
    ]


def training_differences(values: Mapping[str, float]) -> list[float]:
    """The same of full training, whose article counts no workspace."""
    article = {name: values[f"article_{name}_at_peak_bytes"] for name in ("weights", "gradients", "optimizer_states", "weight_cache", "activations")}
    return [
        values["weights_bytes"] - article["weights"],
        values["gradients_at_peak_bytes"] + values["optimizer_states_bytes"] - article["gradients"] - article["optimizer_states"],
        values["weight_cache_at_peak_bytes"] - article["weight_cache"],
        values["activations_at_peak_bytes"] + values["workspace_bytes"] - article["activations"],
    ]


def quantities(values: Mapping[str, float], found: list[float], names: Sequence[str]) -> dict[str, float | str]:
    """`largest_difference_bytes`, `main_difference` (its name) and `accounts_differ` (by more than a tenth of the ledger's total), from
    the differences of all groups but the last, which makes up the difference of the totals.
    """
    rest = (values["total_gb"] - values["article_total_gb"]) * GB - sum(found)
    every = [*found, rest]
    largest = max(map(abs, every))
    return {
        "largest_difference_bytes": largest,
        "main_difference": next(name for name, value in zip(names, every) if abs(value) == largest),
        "accounts_differ": int(abs(values["total_gb"] - values["article_total_gb"]) > TENTH * values["total_gb"]),
    }
