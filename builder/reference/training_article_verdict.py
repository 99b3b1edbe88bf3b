"""Article of the training book: the public figures in GB, the moment of the peak and the verdict.

    fits when total <= capacity;  headroom = capacity - total;  utilization = total / capacity

Total, overhead, verdict and moment follow the rules of the fine-tuning book's article (`article_total`, `article_verdict`); the line items
are others. Units: GB of 10^9 bytes, utilization a ratio. Under a choice that the article does not know every one of these is the
text `not covered by the article`; when an input is missing, out of range or unknown the verdict is `CHECK INPUTS` and the rest is
unavailable (None).

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20; the texts are this project's.
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.article_verdict import CHECK_INPUTS, NOT_COVERED, SPLIT_BY_CHECKPOINTING_ONLY, fit_verdict, peak_moment

IN_GB = (
    "article_weights",
    "article_gradients",
    "article_optimizer_states",
    "article_weight_cache",
    "article_activations",
    "article_peak_forward",
    "article_peak_backward",
    "article_peak_optimizer",
    "article_peak_allocated",
    "article_peak_reserved",
    "article_total",
)
"""Quantities `<name>_bytes` that are shown as `<name>_gb`."""

OUTPUTS = (
    *(f"{name}_gb" for name in IN_GB),
    "article_allocator_overhead_gb",
    "article_cuda_context_gb",
    "article_headroom_gb",
    "article_utilization",
    "article_peak_moment",
    "article_fit_verdict",
)
"""Every public output of the article."""


def quantities(
    values: Mapping[str, float],
    *,
    checkpointing: bool,
    overhead_gb: float,
    context_gb: float,
    capacity_gb: float,
    bytes_per_gb: float,
) -> dict[str, float | str]:
    """Every public output of the article from the quantities in bytes."""
    in_gb = {f"{name}_gb": values[f"{name}_bytes"] / bytes_per_gb for name in IN_GB}
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


def not_covered() -> dict[str, str]:
    """Every public output of the article under a choice that it does not know."""
    return dict.fromkeys(OUTPUTS, NOT_COVERED)


def check_inputs() -> dict[str, str | None]:
    """Every public output of the article while an input is missing, out of range or unknown."""
    return {**dict.fromkeys(OUTPUTS, None), "article_fit_verdict": CHECK_INPUTS}
