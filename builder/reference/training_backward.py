"""Training: inside a layer's backward, at the top layer and at the lowest, and the embedding's gradient. Units: bytes.

From the top layer down each layer leaves its gradients and frees what it saved, so one of the two ends is the worst. Gradients
of a layer are made from its end. Its points: the gradient of the MLP's last matrix, the MLP's product, the gradient of its first
matrix as it is made and in the stored type, attention, and the norm of queries (an encoder's q, k, v).
Under autocast a gradient exists in BF16 and in FP32 for a moment, and the cast of a matrix goes with its gradient.
Source: PyTorch 2.13.0 autograd as traced by tests/tracer/full.py.
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, MASK, TrainingStep
from builder.reference.training_saved import mlp, norm


def gradient(step: TrainingStep, elements: int) -> int:
    """What a matrix leaves once its gradient is there."""
    return (step.gathered - step.cast) * elements


def temporary(step: TrainingStep, elements: int) -> int:
    """A gradient as it is made: as computed, beside the cast; then in the stored type beside that."""
    return step.computed * elements


def in_stored_type(step: TrainingStep, elements: int) -> int:
    """A gradient as autocast's cast is undone: in both types, without the cast."""
    return (step.computed + step.stored - step.cast) * elements


def decoder(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """Points of a decoder layer, beyond what stands as its backward begins."""
    shape, c, stream = step.shape, step.computed, step.hidden(step.stream)
    matrix, out = shape.hidden_size * shape.feed_forward, shape.hidden_size * shape.q_width
    middle, one = step.middle(c), step.hidden(c)
    second = norm(step) + values["mlp_inputs_bytes"] + 4 * middle
    heads_out = 3 * gradient(step, matrix) + gradient(step, out)
    last = stream + in_stored_type(step, matrix) if step.cast else stream + middle + temporary(step, matrix)
    product = stream + 2 * middle + gradient(step, matrix)
    first_input = stream + 2 * one - 3 * middle + 2 * gradient(step, matrix) + temporary(step, matrix)
    first_weight = stream - 4 * middle + 2 * gradient(step, matrix) + in_stored_type(step, matrix)
    if "gate_up" in step.family.fused_projections:
        first_input = stream + one - 2 * middle + gradient(step, matrix) + temporary(step, 2 * matrix)
        first_weight = stream + one - 4 * middle + gradient(step, matrix) + in_stored_type(step, 2 * matrix)
    attention = stream - second + attention_work(step, values) + heads_out
    query_norm = 2 * stream + norm(step) + one + 6 * FP32 * step.tokens * shape.q_width - values["layer_freed_bytes"]
    query_norm += gradient_of_layer(step, values) - gradient(step, out)
    return {"last": last, "product": product, "first_input": first_input, "first_weight": first_weight if step.cast else product,
            "attention": attention, "query": query_norm if step.family.qk_norms else attention}


def attention_work(step: TrainingStep, values: dict[str, float]) -> int:
    """The backward of attention itself."""
    q, kv = step.tokens * step.shape.q_width, step.tokens * step.shape.kv_width
    if step.eager:
        alive = 3 * FP32 + (MASK if step.drops and step.stored == FP32 else 0)
        wide = step.drops and step.computed == FP32  # at the gradient of the dropped-out scores, not of the softmax
        return step.scores(alive) - values["scores_saved_bytes"] + q * step.computed * (1 if wide else -1)
    if step.cast:
        return 8 * q - FP32 * step.tokens * step.shape.heads
    return 2 * step.computed * (q + kv)


def gradient_of_layer(step: TrainingStep, values: dict[str, float]) -> float:
    """What all of a layer leaves."""
    return step.gathered * values["layer_parameters_trained"] - step.cast * values["layer_matrix_parameters"]


def encoder(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """The same of an encoder layer."""
    shape, c, stream = step.shape, step.computed, step.hidden(step.stream)
    matrix, out = shape.hidden_size * shape.feed_forward, shape.hidden_size * shape.hidden_size
    one, mask, own = step.hidden(c), step.hidden(step.mask), mlp(step)
    if step.drops:
        product = stream + one - mask + step.middle(c) + temporary(step, matrix)
        last = stream - mask + in_stored_type(step, matrix) if step.cast else product
    else:
        product = stream + 2 * step.middle(c) + gradient(step, matrix)
        last = stream + step.middle(c) + (in_stored_type(step, matrix) if step.cast else temporary(step, matrix))
    first = stream + one - mask - own + (step.middle(c)) + gradient(step, matrix) + temporary(step, matrix)
    first_weight = stream + one - mask - own + gradient(step, matrix) + in_stored_type(step, matrix)
    attention = 5 * one - 2 * mask - own + 2 * gradient(step, matrix) + gradient(step, out)
    query = 2 * (stream + one) - values["layer_freed_bytes"] + gradient_of_layer(step, values) - gradient(step, 3 * out)
    query += in_stored_type(step, 3 * out) if step.cast else 3 * one + temporary(step, 3 * out)
    return {"last": last, "product": product, "first_input": first, "first_weight": first_weight if step.cast else product,
            "attention": attention, "query": query}


def own_saved(step: TrainingStep, values: dict[str, float]) -> float:
    """What a layer saves that checkpointing has computed again, beside the boundary that it begins with."""
    shared = step.encoder or step.stream == FP32
    return values["layer_saved_bytes"] - (step.hidden(step.stream) if shared else 0)


def quantities(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """Every point, `inside_layer_bytes`, `optimizer_step_bytes`."""
    layers, held, head = step.shape.layers, values["held_bytes"], values["embedding_matrix_parameters"]
    own = own_saved(step, values) if step.checkpointing else 0
    casts = values["layer_casts_bytes"] if step.checkpointing else values["layers_casts_bytes"]
    head_gradient = (step.stored if step.tied else step.gathered) * head
    standing = held + values["once_bytes"] + values["logits_bytes"] + values["mask_kept_bytes"] + head_gradient
    standing += values["saved_layers_bytes"] + own + casts
    if step.checkpointing:
        one = step.gathered * values["layer_parameters_trained"] - values["boundary_bytes"]
    else:
        one = gradient_of_layer(step, values) - values["layer_freed_bytes"]
    lower = (layers - 1) * one
    work = encoder(step, values) if step.encoder else decoder(step, values)
    points = {f"point_top_{name}_bytes": standing + bytes_ for name, bytes_ in work.items()}
    points |= {f"point_bottom_{name}_bytes": standing + lower + bytes_ for name, bytes_ in work.items()}
    gradients = 0 if step.accumulates else values["gradients_bytes"]
    done = held + gradients + values["token_ids_bytes"] + values["output_bytes"]
    tied = (2 + step.accumulates) * step.stored * head
    untied = step.accumulates * step.stored * head + step.hidden(step.stream)
    points["point_embedding_bytes"] = done + (tied if step.tied else untied)
    return {
        "head_gradient_bytes": head_gradient,
        "gradients_above_bytes": (layers - 1) * step.gathered * values["layer_parameters_trained"],
        "backward_standing_bytes": standing,
        "lower_change_bytes": lower,
        "top_layer_bytes": max(standing + bytes_ for bytes_ in work.values()),
        **points,
        "inside_layer_bytes": max(points.values()),
        "point_step_bytes": done + values["step_temporary_bytes"],
        "optimizer_step_bytes": done + values["step_temporary_bytes"],
    }
