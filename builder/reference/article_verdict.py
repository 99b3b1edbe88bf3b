"""Article: the public figures in GB, the moment of the peak and the verdict.

    fits when total <= capacity;  headroom = capacity - total;  utilization = total / capacity

Units: GB of 10^9 bytes, utilization a ratio. Under a choice that the article does not know every one of these is the text
`not covered by the article`; when an input is missing, out of range or unknown the verdict is `CHECK INPUTS` and the rest
is unavailable (None).

Source: the published fine-tuning and training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20; the texts are this project's.
"""

from __future__ import annotations

from typing import Mapping, Sequence

FITS, DOES_NOT_FIT, CHECK_INPUTS = "✓ FITS", "✗ DOES NOT FIT", "CHECK INPUTS"
NOT_COVERED = "not covered by the article"
START_OF_BACKWARD, INSIDE_BACKWARD = "Start of backward", "Inside a layer's backward"
OPTIMIZER_STEP, FORWARD = "Optimizer step", "Forward"

STEP = (
    "article_peak_forward",
    "article_peak_backward",
    "article_peak_optimizer",
    "article_peak_allocated",
    "article_peak_reserved",
    "article_total",
)
"""Quantities `<name>_bytes` that are shown as `<name>_gb`, beside the line items of a book."""

SPLIT_BY_CHECKPOINTING_ONLY = ("article_peak_forward_gb", "article_peak_optimizer_gb")
"""Figures that the article gives under checkpointing only."""


def outputs(items: Sequence[str]) -> tuple[str, ...]:
    """Every public output of the article of a book with these line items."""
    return (
        *(f"{name}_gb" for name in (*items, *STEP)),
        "article_allocator_overhead_gb",
        "article_cuda_context_gb",
        "article_headroom_gb",
        "article_utilization",
        "article_peak_moment",
        "article_fit_verdict",
    )


def peak_moment(values: Mapping[str, float], checkpointing: bool) -> str:
    """The name of the moment that sets the peak."""
    if not checkpointing:
        return START_OF_BACKWARD
    if values["article_peak_is_backward"]:
        return INSIDE_BACKWARD
    return OPTIMIZER_STEP if values["article_peak_is_optimizer"] else FORWARD


def fit_verdict(total_gb: float, capacity_gb: float) -> str:
    """FITS when the total is within the capacity, to the byte; the article has no TIGHT."""
    return FITS if total_gb <= capacity_gb else DOES_NOT_FIT


def quantities(
    values: Mapping[str, float],
    items: Sequence[str],
    *,
    checkpointing: bool,
    overhead_gb: float,
    context_gb: float,
    capacity_gb: float,
    bytes_per_gb: float,
) -> dict[str, float | str]:
    """Every public output of the article from the quantities in bytes."""
    in_gb = {f"{name}_gb": values[f"{name}_bytes"] / bytes_per_gb for name in (*items, *STEP)}
    if not checkpointing:
        in_gb.update(dict.fromkeys(SPLIT_BY_CHECKPOINTING_ONLY, NOT_COVERED))
    total = in_gb["article_total_gb"]
    return {
        **in_gb,
        "article_allocator_overhead_gb": overhead_gb,
        "article_cuda_context_gb": context_gb,
        "article_headroom_gb": capacity_gb - total,
        "article_utilization": total / capacity_gb,
        "article_peak_moment": peak_moment(values, checkpointing),
        "article_fit_verdict": fit_verdict(total, capacity_gb),
    }


def not_covered(items: Sequence[str]) -> dict[str, str]:
    """Every public output of the article under a choice that it does not know."""
    return dict.fromkeys(outputs(items), NOT_COVERED)


def check_inputs(items: Sequence[str]) -> dict[str, str | None]:
    """Every public output of the article while an input is missing, out of range or unknown."""
    return {**dict.fromkeys(outputs(items), None), "article_fit_verdict": CHECK_INPUTS}
