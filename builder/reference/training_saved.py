"""Training: what one layer saves for backward, every weight of which trains. Units: bytes.

Decoder (RMSNorm, gated MLP, rotary positions):
    norms         input in FP32, normalised input in the stored type, reciprocal root; twice
    inputs        of q, k, v and of gate, up: one norm's output, which autocast casts once for each of them
    attention     queries, keys, values, output, log-sum-exp; eager: softmax in FP32 and as multiplied, keys and values repeated
    MLP           outputs of gate, of the activation, of up, and their product
Encoder (LayerNorm, ReLU, dropout):
    norms         input, mean and reciprocal root; twice;  their outputs as multiplied
    attention     queries, keys, values, output, log-sum-exp, a dropout mask of its output
    MLP           output of ReLU; with dropout that dropped out, and its mask; a mask of the MLP's output

Source: traces (tests/tracer/full.py) of transformers' decoder layers and torch.nn.TransformerEncoderLayer.
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, MASK, TrainingStep


def norm_input(step: TrainingStep) -> int:
    """Of a norm: its input. RMSNorm casts it to FP32, LayerNorm takes the stream."""
    return step.hidden(step.stream if step.encoder else FP32)


def norm_output(step: TrainingStep) -> int:
    """Of an RMSNorm: the normalised input that the gradient of its weight needs."""
    return 0 if step.encoder else step.hidden(step.stored)


def statistics(step: TrainingStep) -> int:
    """Of a norm: a reciprocal root per token; LayerNorm has a mean as well."""
    return (2 if step.encoder else 1) * FP32 * step.tokens


def norm(step: TrainingStep) -> int:
    """All that a norm saves."""
    return norm_input(step) + norm_output(step) + statistics(step)


def inputs(step: TrainingStep, projections: int) -> int:
    """Of projections that share an input: a cast each under autocast, else one tensor."""
    return step.hidden(step.computed) * (projections if step.cast and not step.encoder else 1)


def attention_inputs(step: TrainingStep) -> int:
    return inputs(step, 1 if "qkv" in step.family.fused_projections else 3)


def mlp_inputs(step: TrainingStep) -> int:
    return inputs(step, 1 if "gate_up" in step.family.fused_projections else 2)


def keys_and_values(step: TrainingStep) -> int:
    """Keys and values as attention multiplies them; values that are a slice of a fused projection's output keep all of it."""
    q, kv = step.shape.q_width, step.shape.kv_width
    if step.expands or step.window_repeats:
        return 2 * step.tokens * q * step.computed
    copied = step.cache or (step.eager and step.several) or step.encoder
    sliced = "qkv" in step.family.fused_projections and not copied
    return step.tokens * (2 * kv + (q + kv if sliced else 0)) * step.computed


def head_norms(step: TrainingStep) -> int:
    """Norms of queries and keys: input in FP32, normalised, a reciprocal root per head."""
    if not step.family.qk_norms or step.encoder:
        return 0
    shape = step.shape
    return step.tokens * ((shape.q_width + shape.kv_width) * (FP32 + step.computed) + FP32 * (shape.heads + shape.kv_heads))


def attention(step: TrainingStep) -> int:
    """Queries, keys, values, and the output that the projection multiplies; of SDPA the log-sum-exp, and a copy of the output where
    queries come from a fused projection, whose layout the output has."""
    sums = 0 if step.eager else FP32 * step.tokens * step.shape.heads
    copied = not step.eager and not step.encoder and "qkv" in step.family.fused_projections
    return (2 + copied) * step.tokens * step.shape.q_width * step.computed + keys_and_values(step) + sums


def scores(step: TrainingStep) -> int:
    """Eager: the softmax in FP32, its copy as multiplied where that is another tensor, and a mask with dropout."""
    if not step.eager:
        return 0
    apart = step.computed if step.drops or step.computed < FP32 else 0
    return step.scores(FP32 + apart + (MASK if step.drops else 0))


def window_mask(step: TrainingStep) -> int:
    """The mask of a sliding layer as SDPA adds it to the scores."""
    return step.window_masked * step.tokens * step.sequence * step.computed


def product(step: TrainingStep) -> int:
    """MLP: one tensor of the feed-forward width, as multiplied."""
    return step.middle(step.computed)


def mlp(step: TrainingStep) -> int:
    """Of the feed-forward width: four tensors with a gate; ReLU's output, and with dropout two more."""
    if not step.encoder:
        return 4 * product(step)
    return 2 * product(step) + step.middle(MASK) if step.drops else product(step)


def masks(step: TrainingStep) -> int:
    """Dropout masks of attention's output and of the MLP's, together."""
    return 2 * step.hidden(step.mask)


def cache(step: TrainingStep) -> int:
    """KV cache of a layer: rotated keys in the stream's type, values as projected."""
    return step.cache * step.tokens * step.shape.kv_width * (step.stream + step.computed)


def cache_shared(step: TrainingStep) -> int:
    """What of it backward saves anyway."""
    if step.expands or step.window_repeats:
        return 0
    return step.cache * step.tokens * step.shape.kv_width * step.computed * (1 if step.cast else 2)


def quantities(step: TrainingStep) -> dict[str, int]:
    """Every kind of tensor, `layer_saved_bytes`, and what a layer leaves behind once backward is through with it."""
    parts = {
        "norm_saved_bytes": norm(step),
        "attention_inputs_bytes": attention_inputs(step),
        "head_norms_bytes": head_norms(step),
        "attention_saved_bytes": attention(step),
        "scores_saved_bytes": scores(step),
        "window_saved_bytes": window_mask(step),
        "mlp_inputs_bytes": mlp_inputs(step),
        "mlp_saved_bytes": mlp(step),
        "masks_saved_bytes": masks(step),
    }
    extra = cache(step) - cache_shared(step)
    return {
        **parts,
        "product_bytes": product(step),
        "boundary_bytes": step.hidden(step.stream),
        "cache_layer_bytes": cache(step),
        "cache_shared_bytes": cache_shared(step),
        "layer_saved_bytes": sum(parts.values()) + norm(step) + extra,
        "layer_freed_bytes": sum(parts.values()) + norm(step) - cache_shared(step),
    }
