"""Ledger: the peak is the largest moment, and what of each line item is alive in it. Units: bytes.

Two cuBLAS workspaces, one for the thread of forward and one for that of backward, are alive all the time: 32 MiB each on
compute capability 9, 8.125 MiB on other cards. When moments are equal, the first in the order of a step is named.

Source: PyTorch CublasHandlePool.cpp; measured less traced peaks on an H100 are 64 MiB.
"""

from __future__ import annotations

MIB = 1 << 20
MOMENTS = {
    "Forward": "forward_bytes",
    "In the loss": "in_the_loss_bytes",
    "Start of backward": "start_of_backward_bytes",
    "Inside a layer's backward": "inside_layer_bytes",
    "Optimizer step": "optimizer_step_bytes",
}


def workspace_bytes(compute_capability: str | None) -> float:
    """Both cuBLAS workspaces of a card."""
    major = str(compute_capability or "").split(".")[0]
    return 2 * (32 if major == "9" else 8.125) * MIB


def at_peak(values: dict[str, float], moment: str, checkpointing: bool) -> tuple[float, float]:
    """(gradients and temporaries, casts of adapters) alive in a moment."""
    casts, casts_layer = values["adapter_casts_bytes"], values["adapter_casts_layer_bytes"]
    if moment in ("Forward", "In the loss"):
        return 0, casts
    if moment == "Start of backward":
        return 0, 0 if checkpointing else casts
    if moment == "Optimizer step":
        return values["gradients_bytes"] + values["step_temporary_bytes"], 0
    if values["lower_change_bytes"] > 0:
        return values["gradients_bytes"] - values["gradients_layer_bytes"], casts_layer
    return 0, casts_layer if checkpointing else casts


def quantities(values: dict[str, float], compute_capability: str | None, checkpointing: bool) -> dict[str, float | str]:
    """`peak_moment`, `traced_peak_bytes`, `workspace_bytes`, `peak_allocated_bytes` and items `<item>_at_peak_bytes`."""
    moment = max(MOMENTS, key=lambda name: values[MOMENTS[name]])
    peak = values[MOMENTS[moment]]
    gradients, casts = at_peak(values, moment, checkpointing)
    workspace = workspace_bytes(compute_capability)
    return {
        "peak_moment": moment,
        "traced_peak_bytes": peak,
        "gradients_at_peak_bytes": gradients,
        "autocast_cache_at_peak_bytes": casts,
        "activations_at_peak_bytes": peak - values["held_bytes"] - gradients - casts,
        "workspace_bytes": workspace,
        "peak_allocated_bytes": peak + workspace,
    }
