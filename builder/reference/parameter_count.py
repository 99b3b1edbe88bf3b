"""The number of parameters that the shape implies, tensor by tensor.

    parameters_from_shape = V d (2, or 1 when the output head is tied to the embedding)
                          + L (d q + 2 d kv + q d + 3 d ff + biases + norms_per_layer d + qk_norms h)
                          + final_norms d

with d hidden_size, h head_dim, q = heads x head_dim, kv = kv_heads x head_dim, ff feed_forward, V vocabulary, L layers.
Unit: parameters.

A fused projection (Phi-3: qkv_proj, gate_up_proj) has the weights of its parts.

Source: module shapes of transformers' Llama-, Mistral-, Qwen2-, Qwen3-, Phi3-, Gemma2- and Gemma3ForCausalLM (q_norm and
k_norm of Qwen3 and Gemma 3 have one weight per element of a head, which all heads share); every shipped model's published
count (named in its preset) is reproduced to the last parameter.
"""

from __future__ import annotations

from builder.reference.shape import Shape


def embedding_parameters(shape: Shape, tied: bool) -> int:
    """Token embedding V x d, and an output head of the same size unless it is tied to the embedding."""
    return shape.vocabulary * shape.hidden_size * (1 if tied else 2)


def projection_parameters(shape: Shape) -> int:
    """Weights of one layer's seven projections: q, k, v, o, gate, up, down."""
    attention = (
        shape.hidden_size * shape.q_width
        + shape.hidden_size * shape.kv_width
        + shape.hidden_size * shape.kv_width
        + shape.q_width * shape.hidden_size
    )
    return attention + 3 * shape.hidden_size * shape.feed_forward


def bias_parameters(shape: Shape, qkv_bias: bool, o_bias: bool, mlp_bias: bool) -> int:
    """Biases of one layer; a projection's bias has its output width."""
    count = 0
    if qkv_bias:
        count += shape.q_width + 2 * shape.kv_width
    if o_bias:
        count += shape.hidden_size
    if mlp_bias:
        count += 2 * shape.feed_forward + shape.hidden_size
    return count


def norm_parameters(shape: Shape, family: object) -> int:
    """Norm weights of one layer: vectors of hidden_size, and those on q and k of head_dim."""
    return family.norms_per_layer * shape.hidden_size + family.qk_norms * shape.head_dim


def parameters_from_shape(shape: Shape, preset: object, family: object) -> int:
    """All parameters of a model of this shape.

    `preset` gives tied_embeddings and the three bias flags (a model preset's shape), `family` the norm vectors:
    norms_per_layer of hidden_size and qk_norms of head_dim in each layer, final_norms of hidden_size after the last.
    """
    layer = (
        projection_parameters(shape)
        + bias_parameters(shape, preset.qkv_bias, preset.o_bias, preset.mlp_bias)
        + norm_parameters(shape, family)
    )
    return (
        embedding_parameters(shape, preset.tied_embeddings)
        + shape.layers * layer
        + family.final_norms * shape.hidden_size
    )


def quantities(shape: Shape, preset: object, family: object) -> dict[str, int]:
    """`parameters_from_shape`; for a preset without overrides it equals the published count."""
    return {"parameters_from_shape": parameters_from_shape(shape, preset, family)}
