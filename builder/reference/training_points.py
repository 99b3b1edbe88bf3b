"""Training: every point that may be the peak, in the order of a step. Units: bytes.

The largest of them is the peak. Each is a straight line in the batch and at most a parabola in the sequence, so that the largest
batch and sequence are solved from them. A point that a job does not have is 0, or no more than what stands while others are reached.
Source: as of the modules whose points they are: `training_forward`, `training_loss`, `training_backward`.
"""

from __future__ import annotations

WORK = ("last", "product", "first_input", "first_weight", "attention", "query")
"""Points of a layer's backward pass, in its order."""
FORWARD = ("begin", "forward_product", "forward_down", "forward_softmax")
LOSS = ("head", "loss", "start", "start_head", "start_weight")
INSIDE = (*(f"top_{name}" for name in WORK), *(f"bottom_{name}" for name in WORK), "embedding")
STEP = ("step",)
POINTS = (*FORWARD, *LOSS, *INSIDE, *STEP)


def quantities(values: dict[str, float]) -> dict[str, float]:
    """`points_peak_bytes`, the largest of the points."""
    return {"points_peak_bytes": max(values[f"point_{name}_bytes"] for name in POINTS)}
