"""Ledger: what to size against, and the three-valued verdict. Units: GB (10^9 bytes).

    total = reserved + context + memory already in use
    FITS  total <= capacity        TIGHT  allocated + context + in use <= capacity        DOES NOT FIT  not even that

TIGHT needs expandable segments, or the allocator's own retry after it has given cached blocks back.
Source: this project's public interface; the context is the card's preset.
"""

from __future__ import annotations

from builder.reference.article_verdict import DOES_NOT_FIT, FITS
from builder.reference.ledger_peak import MIB

TIGHT = "! TIGHT"
GB = 10**9
ITEMS = ("frozen_base", "adapter_weights", "gradients", "optimizer_states", "autocast_cache", "activations", "matmul_workspace")
OUTPUTS = (
    *(f"{item}_gb" for item in ITEMS),
    "after_forward_gb", "peak_forward_gb", "peak_backward_gb", "peak_optimizer_gb", "peak_allocated_gb", "peak_moment",
    "peak_reserved_gb", "reserved_low_gb", "reserved_high_gb", "allocator_overhead_gb", "cuda_context_gb", "total_gb",
    "headroom_gb", "utilization", "fit_verdict",
)
"""The ledger's public outputs."""


def quantities(values: dict[str, float], context_mib: float, already_used_gb: float, capacity_gb: float) -> dict[str, float | str]:
    """Public outputs from the ledger's bytes."""
    context = context_mib * MIB
    allocated, reserved = values["peak_allocated_bytes"], values["reserved_bytes"]
    total = (reserved + context) / GB + already_used_gb
    tight = (allocated + context) / GB + already_used_gb
    verdict = FITS if total <= capacity_gb else TIGHT if tight <= capacity_gb else DOES_NOT_FIT
    in_bytes = {
        "frozen_base_gb": values["frozen_base_bytes"],
        "adapter_weights_gb": values["adapter_weights_bytes"],
        "gradients_gb": values["gradients_at_peak_bytes"],
        "optimizer_states_gb": values["optimizer_states_bytes"],
        "autocast_cache_gb": values["autocast_cache_at_peak_bytes"],
        "activations_gb": values["activations_at_peak_bytes"],
        "matmul_workspace_gb": values["workspace_bytes"],
        "after_forward_gb": values["after_forward_bytes"],
        "peak_forward_gb": max(values["forward_bytes"], values["in_the_loss_bytes"]),
        "peak_backward_gb": max(values["start_of_backward_bytes"], values["inside_layer_bytes"]),
        "peak_optimizer_gb": values["optimizer_step_bytes"],
        "peak_allocated_gb": allocated,
        "peak_reserved_gb": reserved,
        "reserved_low_gb": values["reserved_low_bytes"],
        "reserved_high_gb": values["reserved_high_bytes"],
        "allocator_overhead_gb": reserved - allocated,
        "cuda_context_gb": context,
    }
    return {
        "context_bytes": context,
        **{name: value / GB for name, value in in_bytes.items()},
        "total_gb": total,
        "tight_total_gb": tight,
        "headroom_gb": capacity_gb - total,
        "utilization": total / capacity_gb,
        "fit_verdict": verdict,
    }
