"""Training: the peak is the largest moment, and what of each line item is alive in it. Units: bytes.

Two cuBLAS workspaces are alive all the time: 32 MiB each on compute capability 9, 8.125 MiB on other cards. When moments are
equal, the first in the order of a step is named; of two points in backward the top layer's.
Source: PyTorch CublasHandlePool.cpp; measured less traced peaks on an H100 are 64 MiB.
"""

from __future__ import annotations

from builder.reference.ledger_peak import MOMENTS, workspace_bytes
from builder.reference.training_choices import TrainingStep

FORWARD, LOSS, START, INSIDE, OPTIMIZER = MOMENTS


def place(values: dict[str, float], moment: str) -> str:
    """Which part of a moment is its largest: `bottom` layer, `embedding`; `rest` otherwise.

    The begin of a step is never the peak: the embedding's backward finds the same gradients, and the gradient of a boundary besides.
    """
    peak = values[MOMENTS[moment]]
    if moment == INSIDE and values["top_layer_bytes"] < peak:
        return "embedding" if values["point_embedding_bytes"] == peak else "bottom"
    return "rest"


def gradients(values: dict[str, float], moment: str, where: str) -> float:
    """Gradients and what the optimizer adds to them, alive in a moment."""
    if moment == OPTIMIZER:
        return values["gradients_bytes"] + values["step_temporary_bytes"]
    if where == "embedding":
        return values["gradients_bytes"]
    found = values["accumulated_bytes"]
    if moment == INSIDE:
        found += values["head_gradient_bytes"]
    return found + (values["gradients_above_bytes"] if where == "bottom" else 0)


def casts(step: TrainingStep, values: dict[str, float], moment: str, where: str) -> float:
    """Autocast's casts of weights alive in a moment."""
    layers, layer, head = values["layers_casts_bytes"], values["layer_casts_bytes"], values["head_cast_bytes"]
    if moment == OPTIMIZER or where == "embedding":
        return 0
    if moment == FORWARD:
        return layers
    if moment == LOSS:
        return layers + head
    if moment == START:
        return head + (0 if step.checkpointing else layers)
    return layer if step.checkpointing or where == "bottom" else layers


def at_work(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """What the Ledger sheet adds to the tensors that it lists of a moment."""
    previous = 0 if step.encoder else values["previous_output_bytes"]
    return {
        "forward_at_work_bytes": values["forward_bytes"] - values["forward_standing_bytes"],
        "loss_at_work_bytes": values["in_the_loss_bytes"] - values["loss_standing_bytes"] - values["layers_casts_bytes"] - previous,
        "start_at_work_bytes": values["start_of_backward_bytes"] - values["after_forward_bytes"],
        "inside_at_work_bytes": values["inside_layer_bytes"] - values["backward_standing_bytes"],
    }


def quantities(step: TrainingStep, values: dict[str, float], compute_capability: str | None) -> dict[str, float | str]:
    """`peak_moment`, `traced_peak_bytes`, `workspace_bytes`, `peak_allocated_bytes` and items `<item>_at_peak_bytes`."""
    moment = max(MOMENTS, key=lambda name: values[MOMENTS[name]])
    peak, where = values[MOMENTS[moment]], place(values, moment)
    here, cached = gradients(values, moment, where), casts(step, values, moment, where)
    fixed = values["held_bytes"] - values["accumulated_bytes"]
    workspace = workspace_bytes(compute_capability)
    return {
        "peak_moment": moment,
        "traced_peak_bytes": peak,
        **{f"peak_is_{name}": int(moment == text) for name, text in zip(("forward", "loss", "start", "inside", "step"), MOMENTS)},
        "peak_at_bottom": int(where == "bottom"),
        "peak_at_embedding": int(where == "embedding"),
        **at_work(step, values),
        "gradients_at_peak_bytes": here,
        "weight_cache_at_peak_bytes": cached,
        "activations_at_peak_bytes": peak - fixed - here - cached,
        "workspace_bytes": workspace,
        "peak_allocated_bytes": peak + workspace,
    }
