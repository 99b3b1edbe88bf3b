"""Training: weights, gradients and optimizer states, which every step holds. Units: bytes.

    Adam, fused Adam   two tensors of the stored type per weight
    8-bit Adam         two bytes per weight + two FP32 scales per 256; a tensor below 4,096 elements keeps FP32 states
    SGD                none;  with momentum one tensor
    Adafactor          a row and a column of each matrix, all of a vector

Foreach Adam holds one more set of tensors while it steps, Adafactor two matrices at a time.
Source: PyTorch 2.13.0 torch.optim; bitsandbytes 0.50.2 Optimizer2State.
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, TrainingStep

SMALL_TENSOR, BLOCK = 4096, 256
STATE_TENSORS = {"Adam": 2, "Adam fused": 2, "SGD momentum": 1}
"""Of optimizers whose states are as large as the weights."""


def layer_matrices(step: TrainingStep) -> list[tuple[int, int]]:
    """(inputs, outputs) of each matrix of one layer; a fused projection is one matrix."""
    shape, fused = step.shape, step.family.fused_projections
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    attention = [(d, q + 2 * kv)] if "qkv" in fused else [(d, q), (d, kv), (d, kv)]
    if not step.family.gated_mlp:
        return [*attention, (q, d), (d, ff), (ff, d)]
    return [*attention, (q, d), *([(d, 2 * ff)] if "gate_up" in fused else [(d, ff), (d, ff)]), (ff, d)]


def layer_vectors(step: TrainingStep, preset: object) -> list[int]:
    """Elements of each vector of one layer: norms (two of a LayerNorm), norms of q and k, biases."""
    shape, family = step.shape, step.family
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    vectors = [d] * (family.norms_per_layer * (2 if family.layer_norm else 1)) + [shape.head_dim] * family.qk_norms
    if preset.qkv_bias:
        vectors += [q + 2 * kv] if "qkv" in family.fused_projections else [q, kv, kv]
    if preset.o_bias:
        vectors.append(d)
    if preset.mlp_bias:
        vectors += [ff] * (2 if family.gated_mlp else 1) + [d]
    return vectors


def outer_matrices(step: TrainingStep) -> list[tuple[int, int]]:
    """Embedding and output head, one matrix where they are tied."""
    return [(step.shape.hidden_size, step.shape.vocabulary)] * (1 if step.tied else 2)


def outer_vectors(step: TrainingStep) -> list[int]:
    """The final norm, and the bias of the head."""
    family = step.family
    norm = [step.shape.hidden_size] * (family.final_norms * (2 if family.layer_norm else 1))
    return norm + ([step.shape.vocabulary] if family.head_bias else [])


def states_8bit(elements: int) -> int:
    """Bytes of the 8-bit Adam states of one tensor."""
    if elements < SMALL_TENSOR:
        return 2 * FP32 * elements
    return 2 * elements + 2 * FP32 * -(-elements // BLOCK)


def states_adafactor(matrices: list[tuple[int, int]], vectors: list[int]) -> int:
    """Elements of Adafactor's states of these tensors."""
    return sum(map(sum, matrices)) + sum(vectors)


def largest_pair(step: TrainingStep) -> int:
    """Elements of the largest two matrices that Adafactor holds at once: that of a weight, and that of the weight before it,
    where no vector lies between them."""
    shape, fused = step.shape, step.family.fused_projections
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    embedding, qkv = d * shape.vocabulary, d * (q + 2 * kv)
    if not step.family.gated_mlp:
        return max(embedding + qkv, d * ff)
    if "gate_up" in fused:
        return max(embedding + d * q, qkv + 2 * d * ff, 3 * d * ff)
    return max(embedding + d * q, 2 * d * ff)


def quantities(step: TrainingStep, preset: object, parameters: int, from_shape: int) -> dict[str, float]:
    """Weights, gradients, states, what the optimizer adds while it steps, and `held_bytes`, alive all the time.

    `preset` is the shape of the model's preset, `from_shape` the parameters that the shape gives; those beyond them count in
    every item.
    """
    shape, layers = step.shape, step.shape.layers
    matrices, vectors = layer_matrices(step), layer_vectors(step, preset)
    outer, outer_rest = outer_matrices(step), outer_vectors(step)
    sizes, outer_sizes = [a * b for a, b in matrices] + vectors, [a * b for a, b in outer] + outer_rest
    layer_8bit, outer_8bit = sum(map(states_8bit, sizes)), sum(map(states_8bit, outer_sizes))
    layer_factors, outer_factors = states_adafactor(matrices, vectors), states_adafactor(outer, outer_rest)
    weights = step.stored * parameters
    states = STATE_TENSORS.get(step.optimizer, 0) * weights
    if step.optimizer == "8-bit Adam":
        by_tensor = layers * layer_8bit + outer_8bit - 2 * from_shape
        states = 2 * parameters + (by_tensor if step.family.training_modelled else 0)
    elif step.optimizer == "Adafactor":
        states = step.stored * (layers * layer_factors + outer_factors) * step.family.training_modelled
    temporary = {"Adam": weights, "Adafactor": step.stored * largest_pair(step)}.get(step.optimizer, 0)
    positions = step.stored * step.sequence * shape.hidden_size if step.encoder else 0
    return {
        "layer_matrix_parameters": sum(a * b for a, b in matrices),
        "layer_parameters_trained": sum(sizes),
        "embedding_matrix_parameters": shape.vocabulary * shape.hidden_size,
        "layer_8bit_bytes": layer_8bit,
        "outer_8bit_bytes": outer_8bit,
        "layer_factors": layer_factors,
        "outer_factors": outer_factors,
        "largest_pair": largest_pair(step),
        "weights_bytes": weights,
        "gradients_bytes": weights,
        "optimizer_states_bytes": states,
        "step_temporary_bytes": temporary,
        "position_buffer_bytes": positions,
        "accumulated_bytes": weights if step.accumulates else 0,
        "held_bytes": weights + positions + states + (weights if step.accumulates else 0),
    }
