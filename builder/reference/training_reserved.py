"""Training: what the caching allocator reserves, as a band with a middle. Units: bytes.

    middle = the largest point with the shares of its part of a step (around the loss, around the layers, the optimizer step) of
             blocks that do not fit what others leave: log-softmax, vocabulary matrix, feed-forward tensors, casts, a layer
    low    = the peak, or LOW of the middle      high = HIGH of the middle

Gradients and optimizer states settle in segments that activations have left, so that large blocks need new ones; nothing in a job
tells which. The shares are fitted. Of 215 rows (192 replayed jobs of 3 to 8 layers, 18 replayed whole models, 5 measured on an
H100) the middle is within 5% in 151, of whole models in 20 of 23, within 10% in 200; the band holds all. Of 64 jobs drawn
afterwards the middle is within 5% in 48, the band holds all. Every term is a straight line in the batch.
Source: replays of traced steps (tests/tracer/allocator.py); the article's training runs on an H100, less two workspaces.
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, TrainingStep
from builder.reference.training_points import LOSS, POINTS, STEP

LOW, HIGH = 0.8, 1.2
"""Of the middle: the smallest and the largest reserve that was seen are 0.81 and 1.19 times it."""
SHARES = {
    "start": {"log_softmax": 0.4, "kept": 0.25, "vocabulary": 0.6, "tied": 0.8, "feed_forward": 0.4, "casts": 0.6, "recast": 0.25, "layer": 0.75},
    "inside": {"log_softmax": 0.4, "kept": 0, "vocabulary": 0.25, "tied": 0.7, "feed_forward": 0.1, "casts": 0.5, "recast": 0.7, "layer": 0.25},
    "step": {"log_softmax": 3, "kept": 0, "vocabulary": 0, "tied": 0, "feed_forward": 2.6, "casts": 0.9, "recast": 0.15, "layer": 0},
}
"""Of each block, by line. `kept`: once more where the previous output is kept; `tied`: once more where the head is tied; `casts` of
all layers without checkpointing, `recast` with it; `layer`: what a layer saves, under checkpointing."""


def blocks(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """The bytes that the shares are of."""
    softened, casts = values["log_softmax_bytes"], values["layers_casts_bytes"]
    matrix = step.stored * values["embedding_matrix_parameters"]
    return {
        "log_softmax": softened,
        "kept": softened if step.output_kept else 0,
        "vocabulary": matrix,
        "tied": matrix if step.tied else 0,
        "feed_forward": step.middle(FP32),
        "casts": 0 if step.checkpointing else casts,
        "recast": casts if step.checkpointing else 0,
        "layer": values["layer_saved_bytes"] if step.checkpointing else 0,
    }


def part(point: str) -> str:
    """The part of a step that a point belongs to."""
    return "start" if point in LOSS else "step" if point in STEP else "inside"


def quantities(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """`default_low_bytes`, `default_reserve_bytes` (the middle, without the workspaces), `default_high_bytes`, and the terms."""
    here, peak, workspace = blocks(step, values), values["traced_peak_bytes"], values["workspace_bytes"]
    shares = {name: sum(share * here[block] for block, share in of.items()) for name, of in SHARES.items()}
    lines = {f"reserve_{point}_bytes": values[f"point_{point}_bytes"] + shares[part(point)] for point in POINTS}
    middle = max(lines.values())
    return {
        **{f"reserve_{name}_block_bytes": value for name, value in here.items()},
        **{f"reserve_{name}_shares_bytes": value for name, value in shares.items()},
        **lines,
        "default_reserve_bytes": middle,
        "default_low_bytes": max(peak, LOW * middle) + workspace,
        "default_high_bytes": HIGH * middle + workspace,
    }
