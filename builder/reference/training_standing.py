"""Training: what stands over the layers: inputs of the step, tables, autocast's casts, what the loop keeps. Units: bytes.

Autocast casts a matrix once in a forward pass and keeps the cast until it ends; backward keeps those that it needs, which
under checkpointing are the head's alone.
Source: torch.autocast; transformers 5.24.0; traces (tests/tracer/full.py).
"""

from __future__ import annotations

from builder.reference.training_choices import MASK, TrainingStep

TOKEN_ID, TENSORS = 8, 2
"""Bytes of an int64; a step holds the ids and the labels."""


def rotary(step: TrainingStep) -> float:
    """Cosines and sines of each position."""
    turned = step.shape.head_dim * step.rotary_share
    return 0 if step.encoder else 2 * step.sequence * turned * step.stream


def attention_mask(step: TrainingStep) -> int:
    """Of eager attention one mask in the stream's type, of masked sliding layers one of truth values."""
    if step.eager:
        return step.tokens * step.sequence * step.stream
    return MASK * step.sequence**2 if step.window_masked else 0


def quantities(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """The standing sums; the mask lives on into backward under checkpointing alone."""
    layers, mask = step.shape.layers, attention_mask(step)
    head = step.cast * values["embedding_matrix_parameters"]
    casts = step.cast * layers * values["layer_matrix_parameters"]
    ids, logits = TENSORS * TOKEN_ID * step.tokens, step.logits(step.computed)
    output = logits + layers * values["cache_layer_bytes"]
    kept = layers * (values["boundary_bytes"] if step.checkpointing else values["layer_saved_bytes"])
    return {
        "token_ids_bytes": ids,
        "rotary_bytes": rotary(step),
        "once_bytes": ids + rotary(step),
        "attention_mask_bytes": mask,
        "mask_kept_bytes": mask if step.checkpointing else 0,
        "layer_casts_bytes": step.cast * values["layer_matrix_parameters"],
        "layers_casts_bytes": casts,
        "head_cast_bytes": head,
        "logits_bytes": logits,
        "output_bytes": output,
        "previous_output_bytes": output if step.output_kept else 0,
        "saved_layers_bytes": kept,
    }
