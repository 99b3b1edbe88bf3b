"""Where the two accountings differ: the line item with the largest difference, in bytes, at each one's own peak.

Source: this project's comparison of its two accountings.
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.ledger_total import GB, ITEMS

TENTH = 0.1


def differences(values: Mapping[str, float]) -> dict[str, float]:
    """Ledger less article, by line item, in the order in which equal ones are named; together they are the difference of the totals."""
    article = {name: values[f"article_{name}_at_peak_bytes"] for name in ITEMS}
    found = {
        "the frozen base": values["frozen_base_bytes"] - article["frozen_base"],
        "adapters, gradients and states": (
            values["held_bytes"] - values["frozen_base_bytes"] + values["gradients_at_peak_bytes"]
            - article["adapter_weights"] - article["gradients"] - article["optimizer_states"]
        ),
        "the autocast weight cache": values["autocast_cache_at_peak_bytes"] - article["autocast_cache"],
        "activations and workspace": (
            values["activations_at_peak_bytes"] + values["workspace_bytes"] - article["activations"] - article["matmul_workspace"]
        ),
    }
    rest = (values["total_gb"] - values["article_total_gb"]) * GB - sum(found.values())
    return {**found, "allocator overhead and context": rest}


def quantities(values: Mapping[str, float]) -> dict[str, float | str]:
    """`largest_difference_bytes`, `main_difference` (its name) and `accounts_differ` (by more than a tenth of the ledger's total)."""
    found = differences(values)
    largest = max(map(abs, found.values()))
    return {
        "largest_difference_bytes": largest,
        "main_difference": next(name for name, value in found.items() if abs(value) == largest),
        "accounts_differ": int(abs(values["total_gb"] - values["article_total_gb"]) > TENTH * values["total_gb"]),
    }
