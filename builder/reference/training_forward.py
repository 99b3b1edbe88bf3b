"""Training: the forward pass: where a step begins, and the layer at work at the end of the stack. Units: bytes.

A step begins with the gradients of the last one. Without checkpointing the top layer ends it: what all layers save, and the
top layer's own output. Under checkpointing a layer saves nothing, so its MLP counts, or its scores in eager attention.
Source: traces (tests/tracer/full.py).
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, MASK, TrainingStep


def ending(step: TrainingStep) -> int:
    """Output of the MLP and the new hidden states; in a BF16 stream also three that no norm saves;
    where a model multiplies them, what that makes."""
    unsaved = 0 if step.encoder or step.stream == FP32 else 3
    scaled = step.hidden(step.computed) * step.family.scales_residual
    return step.hidden(step.computed) + step.hidden(step.stream) * (1 + unsaved) + scaled


def passing_product(step: TrainingStep) -> int:
    """An MLP that saves nothing, at its product: hidden states, a norm's output, tensors of the feed-forward width."""
    if not step.encoder:
        tensors = (4 if "gate_up" in step.family.fused_projections else 3) * step.middle(step.computed)
    else:
        tensors = 2 * step.middle(step.computed) + (step.middle(MASK) if step.drops else 0)
    return 2 * step.hidden(step.stream) + tensors


def passing_down(step: TrainingStep) -> int:
    """The same as the MLP's output is made."""
    return 2 * step.hidden(step.stream) + step.middle(step.computed) + step.hidden(step.computed)


def weights_held(step: TrainingStep) -> int:
    """Eager: attention weights that a layer which saves nothing holds to its end."""
    return step.scores(step.stream) if step.eager else 0


def softmax(step: TrainingStep, saves: bool) -> int:
    """Eager attention at its softmax: scores, their FP32 copy and the softmax, or that dropped out; queries, keys and values.

    A layer that saves has the copies as well that were multiplied.
    """
    if not step.eager:
        return 0
    q, kv = step.tokens * step.shape.q_width, step.tokens * step.shape.kv_width
    element = 2 * FP32 + (step.stored if step.stored < FP32 else 0)
    if step.drops and step.stored == FP32:
        element += MASK + (step.cast if saves else 0)
    repeated = step.stream + step.computed if step.expands else 0
    copies = (2 if step.cast else 1) * step.computed if saves else 0
    return step.scores(element) + q * (step.stream + repeated + copies) + kv * (step.stream + step.computed)


def quantities(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """The points of the forward pass, `forward_bytes`, the largest, and `forward_standing_bytes`, which stands over all but the first."""
    held, casts, kept = values["held_bytes"], values["layers_casts_bytes"], values["saved_layers_bytes"]
    previous, once, mask = values["previous_output_bytes"], values["once_bytes"], values["attention_mask_bytes"]
    standing = held + previous + once + mask
    last = step.cast * step.shape.feed_forward * step.shape.hidden_size
    gradients = 0 if step.accumulates else values["gradients_bytes"]
    begin = held + gradients + previous + values["token_ids_bytes"]
    if step.checkpointing:
        top = kept + values["layers_casts_bytes"]
        product = standing + top - last + passing_product(step) + weights_held(step)
        down = standing + top + passing_down(step) + weights_held(step)
        at_softmax = standing + top - values["layer_casts_bytes"] + step.hidden(step.stream) + softmax(step, False) if step.eager else 0
    else:
        product = standing + casts + kept + ending(step)
        down = 0
        own = values["norm_saved_bytes"] + values["attention_inputs_bytes"] + step.hidden(step.stream)
        at_softmax = standing + casts - values["layer_casts_bytes"] + kept - values["layer_saved_bytes"] + own + softmax(step, True) if step.eager else 0
    points = {
        "point_begin_bytes": begin,
        "point_forward_product_bytes": product,
        "point_forward_down_bytes": down,
        "point_forward_softmax_bytes": at_softmax,
    }
    return {**points, "forward_standing_bytes": standing + casts + kept, "forward_bytes": max(points.values())}
