"""The number of parameters that the shape implies, tensor by tensor.

    parameters_from_shape = V d (2, or 1 when the output head is tied to the embedding)
                          + positions d
                          + L (d q + 2 d kv + q d + E m d ff + biases + n (norms_per_layer d) + norms of q and k + router + sinks)
                          + n (final_norms d)

with d hidden_size, q = heads x head_dim, kv = kv_heads x head_dim, ff feed_forward, V vocabulary, L layers, E experts (1 in a
dense model), m 3 matrices of an MLP (2 where it has no gate), n 1 (2 for a LayerNorm, which has a bias). Unit: parameters.

A fused projection (Phi-3: qkv_proj, gate_up_proj) has the weights of its parts.

Source: module shapes of the transformers classes that the families name (q_norm and k_norm of Qwen3 and Gemma 3 have one weight
per element of a head, which all heads share; those of OLMo 2 are as wide as q and k); every shipped model's published count
(named in its preset) is reproduced to the last parameter, or the preset says why not.
"""

from __future__ import annotations

from builder.reference.shape import Shape


def embedding_parameters(shape: Shape, tied: bool) -> int:
    """Token embedding V x d, and an output head of the same size unless it is tied to the embedding."""
    return shape.vocabulary * shape.hidden_size * (1 if tied else 2)


def mlp_matrices(family: object) -> int:
    """Matrices between hidden_size and feed_forward: gate, up, down, or the last two."""
    return 3 if family.gated_mlp else 2


def projection_parameters(shape: Shape, preset: object, family: object) -> int:
    """Weights of one layer's projections: q, k, v, o and those of every MLP."""
    attention = (
        shape.hidden_size * shape.q_width
        + shape.hidden_size * shape.kv_width
        + shape.hidden_size * shape.kv_width
        + shape.q_width * shape.hidden_size
    )
    return attention + (preset.experts or 1) * mlp_matrices(family) * shape.hidden_size * shape.feed_forward


def bias_parameters(shape: Shape, preset: object, family: object) -> int:
    """Biases of one layer; a projection's bias has its output width."""
    count = 0
    if preset.qkv_bias:
        count += shape.q_width + 2 * shape.kv_width
    if preset.o_bias:
        count += shape.hidden_size
    if preset.mlp_bias:
        count += (preset.experts or 1) * ((mlp_matrices(family) - 1) * shape.feed_forward + shape.hidden_size)
    return count


def norm_parameters(shape: Shape, family: object) -> int:
    """Norms of one layer: over hidden_size, and on q and k over a head or over all of it."""
    on_q_and_k = shape.q_width + shape.kv_width if family.wide_qk_norms else family.qk_norms * shape.head_dim
    return norm_vectors(family) * family.norms_per_layer * shape.hidden_size + on_q_and_k


def norm_vectors(family: object) -> int:
    """Vectors of a norm: its weight, and the bias of a LayerNorm."""
    return 2 if family.layer_norm else 1


def router_parameters(shape: Shape, preset: object, family: object) -> int:
    """Router of one layer's experts: hidden_size weights, and with a bias one more, for each."""
    return (preset.experts or 0) * (shape.hidden_size + family.router_bias)


def parameters_from_shape(shape: Shape, preset: object, family: object) -> int:
    """All parameters of a model of this shape.

    `preset` gives tied_embeddings, the three bias flags, experts and learned positions (a model preset's shape), `family` what
    its layers are made of.
    """
    layer = (
        projection_parameters(shape, preset, family)
        + bias_parameters(shape, preset, family)
        + norm_parameters(shape, family)
        + router_parameters(shape, preset, family)
        + (shape.heads if family.attention_sinks else 0)
    )
    return (
        embedding_parameters(shape, preset.tied_embeddings)
        + family.head_bias * shape.vocabulary
        + (preset.learned_positions or 0) * shape.hidden_size
        + shape.layers * layer
        + norm_vectors(family) * family.final_norms * shape.hidden_size
    )


def quantities(shape: Shape, preset: object, family: object) -> dict[str, int]:
    """`parameters_from_shape`; for a preset without overrides it equals the published count."""
    return {"parameters_from_shape": parameters_from_shape(shape, preset, family)}
