"""Ledger: what to size against, and the three-valued verdict. Units: GB (10^9 bytes).

    total = reserved + context + memory already in use
    FITS  total <= capacity        TIGHT  allocated + context + in use <= capacity        DOES NOT FIT  not even that
    held  = weights (base and adapters) and optimizer states, which alone are known of a model whose activations are not modelled
    room  = what may be reserved, or allocated, without the workspaces

TIGHT needs expandable segments, or the allocator's own retry after it has given cached blocks back.
Source: this project's public interface; the context is the card's preset.
"""

from __future__ import annotations

from typing import Iterable, Mapping

from builder.reference.article_verdict import DOES_NOT_FIT, FITS
from builder.reference.place import GB, Place

TIGHT, NOT_MODELLED = "! TIGHT", "? NOT MODELLED"
NO_FIGURE = "not modelled"
ITEMS = {
    "frozen_base": "frozen_base_bytes",
    "adapter_weights": "adapter_weights_bytes",
    "gradients": "gradients_at_peak_bytes",
    "optimizer_states": "optimizer_states_bytes",
    "autocast_cache": "autocast_cache_at_peak_bytes",
    "activations": "activations_at_peak_bytes",
    "matmul_workspace": "workspace_bytes",
}
"""Line items of fine-tuning, and the quantities that they show."""
HELD = {"frozen_base", "adapter_weights", "weights", "optimizer_states", "matmul_workspace"}
"""Line items that are known of every model."""
ALWAYS = {*(f"{item}_gb" for item in HELD), "cuda_context_gb", "fit_verdict"}
"""Public outputs that are."""


def outputs(items: Iterable[str]) -> tuple[str, ...]:
    """The ledger's public outputs of a book with these line items."""
    return (
        *(f"{item}_gb" for item in items),
        "after_forward_gb", "peak_forward_gb", "peak_backward_gb", "peak_optimizer_gb", "peak_allocated_gb", "peak_moment",
        "peak_reserved_gb", "reserved_low_gb", "reserved_high_gb", "allocator_overhead_gb", "cuda_context_gb", "total_gb",
        "headroom_gb", "utilization", "fit_verdict",
    )


OUTPUTS = outputs(ITEMS)
"""Those of fine-tuning."""


def verdict(place: Place, peak: float, reserve: float) -> str:
    """Of a job that allocates and reserves so many bytes without the workspaces."""
    return FITS if place.fits(reserve) else TIGHT if place.is_enough(peak) else DOES_NOT_FIT


def quantities(values: dict[str, float], place: Place, items: Mapping[str, str] = ITEMS) -> dict[str, float | str]:
    """Public outputs from the ledger's bytes, and the rooms; `items` are the line items of the book."""
    allocated, reserved = values["peak_allocated_bytes"], values["reserved_bytes"]
    total = place.total_gb(reserved)
    in_bytes = {
        "held_gb": values["held_bytes"],
        **{f"{item}_gb": values[name] for item, name in items.items()},
        "after_forward_gb": values["after_forward_bytes"],
        "peak_forward_gb": max(values["forward_bytes"], values["in_the_loss_bytes"]),
        "peak_backward_gb": max(values["start_of_backward_bytes"], values["inside_layer_bytes"]),
        "peak_optimizer_gb": values["optimizer_step_bytes"],
        "peak_allocated_gb": allocated,
        "peak_reserved_gb": reserved,
        "reserved_low_gb": values["reserved_low_bytes"],
        "reserved_high_gb": values["reserved_high_bytes"],
        "allocator_overhead_gb": reserved - allocated,
        "cuda_context_gb": place.context,
    }
    found = {
        "context_bytes": place.context,
        **{name: value / GB for name, value in in_bytes.items()},
        "total_gb": total,
        "tight_total_gb": place.total_gb(allocated),
        "headroom_gb": place.capacity_gb - total,
        "utilization": total / place.capacity_gb,
        "free_bytes": place.free_bytes,
        "room_bytes": place.room_bytes,
        "tight_room_bytes": place.tight_room_bytes,
        "fit_verdict": verdict(place, values["traced_peak_bytes"], values["traced_reserve_bytes"]),
    }
    if values["activations_modelled"]:
        return found
    fits = place.total_gb(values["held_bytes"]) <= place.capacity_gb
    unknown = dict.fromkeys((name for name in (*outputs(items), "tight_total_gb") if name not in ALWAYS), NO_FIGURE)
    return {**found, **unknown, "fit_verdict": NOT_MODELLED if fits else DOES_NOT_FIT}
