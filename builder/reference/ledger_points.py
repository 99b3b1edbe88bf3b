"""Ledger: every point that may be the peak, each with all that stands over it. Units: bytes.

The largest of them is the peak. A point that a job does not have is 0, or no more than what stands while others are reached.
Source: as of the modules whose points they are: `ledger_forward`, `ledger_backward`, `ledger_loss`.
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step

IN_LAYER = ("rotation", "softmax", "gate_weight", "gate_rest", "up_weight", "up_rest", "product", "down_weight", "down_rest", "post_norm")
"""Points of a layer's forward pass, in its order."""
IN_BACKWARD = ("post_norm", "down_weight", "down_rest", "product", "up_weight", "up_rest", "norm", "softmax")
"""Points of a layer's backward pass, in its order."""


def forward(step: Step, values: dict[str, float]) -> dict[str, float]:
    """The layer at work, which saves nothing under checkpointing."""
    pass_, standing = "passing" if step.checkpointing else "recorded", values["forward_points_standing_bytes"]
    return {f"point_forward_{name}_bytes": standing + values[f"{pass_}_{name}_bytes"] for name in IN_LAYER}


def around(step: Step, values: dict[str, float]) -> dict[str, float]:
    """The final norm and the loss, the start of backward, the optimizer step."""
    head = values["forward_standing_bytes"] + values["saved_layers_bytes"] + values["masks_kept_bytes"]
    return {
        "point_final_norm_bytes": head + values["norm_work_bytes"],
        "point_loss_bytes": head + values["fused_loss_work_bytes" if step.fused_loss else "full_loss_work_bytes"],
        "point_start_bytes": values["start_of_backward_bytes"],
        "point_step_bytes": values["optimizer_step_bytes"],
    }


def backward(values: dict[str, float]) -> dict[str, float]:
    """The top layer, and the shallowest, where gradients are made and the layers above are freed."""
    found = {}
    for name in IN_BACKWARD:
        top = values[f"backward_{name}_bytes"]
        found[f"point_backward_{name}_bytes"] = top
        found[f"point_lower_backward_{name}_bytes"] = top + values["lower_change_bytes"] if top > 0 else 0
    return found


def recomputed(step: Step, values: dict[str, float]) -> dict[str, float]:
    """The same two layers while checkpointing computes them again."""
    found, standing = {}, values["recomputation_standing_bytes"]
    for name in IN_LAYER:
        top = standing + values[f"recorded_{name}_bytes"] if step.checkpointing else 0
        found[f"point_recomputed_{name}_bytes"] = top
        found[f"point_lower_recomputed_{name}_bytes"] = top + values["lower_change_bytes"] if step.checkpointing else 0
    return found


def quantities(step: Step, values: dict[str, float]) -> dict[str, float]:
    """Every point, `point_<name>_bytes`, and `points_peak_bytes`, the largest."""
    found = {**forward(step, values), **around(step, values), **backward(values), **recomputed(step, values)}
    return {**found, "points_peak_bytes": max(found.values())}
