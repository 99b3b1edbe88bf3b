"""Ledger: the peak is the largest moment, and what of each line item is alive in it. Units: bytes.

Two cuBLAS workspaces, one for the thread of forward and one for that of backward, are alive all the time: 32 MiB each on
compute capability 9, 8.125 MiB on other cards. When moments are equal, the first in the order of a step is named.

Source: PyTorch CublasHandlePool.cpp; measured less traced peaks on an H100 are 64 MiB.
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_forward import beside
from builder.reference.ledger_loss import norm_backward

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


def listed_inside(step: Step, values: dict[str, float]) -> float:
    """What stands over the worst layer of backward: all that the Ledger sheet lists for that moment."""
    lower = values["lower_change_bytes"] > 0
    gradients, casts = at_peak(values, "Inside a layer's backward", step.checkpointing)
    boundary, logits = step.hidden(step.stream), 0 if step.fused_loss else values["logits_bytes"]
    standing = values["held_bytes"] + gradients + casts + values["once_bytes"] + values["masks_kept_bytes"] + boundary + logits
    if step.checkpointing:
        return standing + step.boundaries - (step.layers_adapted - 1 if lower else 0) * boundary + step.shape.layers * values["int8_inputs_layer_bytes"]
    below = 0 if lower else step.layers_adapted - 1
    saved = below * values["layer_saved_bytes"] - (values["first_layer_unsaved_bytes"] if below else 0)
    windows = 0 if lower else (step.sliding_layers(step.layers_adapted) - step.sliding_layers(1)) * values["window_extra_bytes"]
    return standing + saved + windows + (step.shape.layers - step.layers_adapted) * values["cache_layer_bytes"]


def at_work(step: Step, values: dict[str, float]) -> dict[str, float]:
    """What the Ledger sheet adds to the listed tensors of a moment: the worst layer, or the gradients of the loss."""
    unsaved = values["first_layer_unsaved_bytes"] if step.layers_adapted == 1 else 0
    own = values["recorded_bytes"] + beside(step, values["attention_input_bytes"])
    forward = values["passing_bytes"] if step.checkpointing else own - unsaved + values["idle_unsaved_bytes"]
    start = norm_backward(step) - step.hidden(step.normed) if step.fused_loss else 2 * values["vocabulary_fp32_bytes"]
    return {
        "saved_layers_count": 0 if step.checkpointing else step.layers_adapted,
        "other_layers_count": 0 if step.checkpointing else step.layers_adapted - 1,
        "forward_at_work_bytes": forward,
        "start_at_work_bytes": start,
        "inside_listed_bytes": listed_inside(step, values),
        "inside_at_work_bytes": values["inside_layer_bytes"] - listed_inside(step, values),
    }


def quantities(step: Step, values: dict[str, float], compute_capability: str | None) -> dict[str, float | str]:
    """`peak_moment`, `traced_peak_bytes`, `workspace_bytes`, `peak_allocated_bytes` and items `<item>_at_peak_bytes`."""
    moment = max(MOMENTS, key=lambda name: values[MOMENTS[name]])
    peak = values[MOMENTS[moment]]
    gradients, casts = at_peak(values, moment, step.checkpointing)
    workspace = workspace_bytes(compute_capability)
    return {
        "peak_moment": moment,
        "traced_peak_bytes": peak,
        **{f"peak_is_{name}": int(moment == text) for name, text in zip(("forward", "loss", "start", "inside", "step"), MOMENTS)},
        "gradients_at_peak_bytes": gradients,
        "autocast_cache_at_peak_bytes": casts,
        "activations_at_peak_bytes": peak - values["held_bytes"] - gradients - casts,
        "workspace_bytes": workspace,
        "peak_allocated_bytes": peak + workspace,
        **at_work(step, values),
    }
