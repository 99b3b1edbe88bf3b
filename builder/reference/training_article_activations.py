"""Article line item of the training book: the activations, with and without checkpointing.

Notation: B batch, S sequence, d hidden size, ff feed-forward width (f d in the article, f its multiple), V vocabulary, L layers,
x = B S d elements, b bytes of a computed element, amp 1 under autocast. Bytes:

    dropout masks       2x + B S ff                             per layer, one byte an element
    layer               (9x + 2 B S ff) b + dropout masks       7 of attention, 2 before the MLP, 2 within it
    once per model      x b + B S V b + amp x 4 B S V           embedding output, logits, FP32 copy in the loss
    boundary            4x                                      what a checkpointed layer keeps, in FP32
    recomputed          (7x + 3 B S ff) b + x                   the layer that backward computes again, one mask
    passing             (3x + 2 B S ff) b                       what a layer holds in a checkpointed forward pass

    no checkpointing    L layer + once per model
    checkpointing       (L + 3) boundary + recomputed + B S V b
    checkpointed forward    L boundary + passing + B S V b + amp x 4 B S V

The last is what stands in place of the activations while the forward pass is the peak (`article_peak`).

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def tokens_per_step(batch_size: int, sequence_length: int) -> int:
    """B S, the tokens of one forward and backward pass (of one micro-batch, where gradients accumulate)."""
    return batch_size * sequence_length


def dropout_mask_bytes(stream: int, feed_forward: int) -> int:
    """One-byte masks of a layer: 2 hidden-wide and 1 feed-forward-wide. `stream` is x and `feed_forward` is B S ff, both in elements."""
    return 2 * stream + feed_forward


def layer_bytes(stream: int, feed_forward: int, b: int, masks: int) -> int:
    """What a layer keeps without checkpointing: 9 hidden-wide and 2 feed-forward-wide tensors, and its dropout masks."""
    return (9 * stream + 2 * feed_forward) * b + masks


def once_per_model_bytes(stream: int, logits: int, b: int, autocast: int, bytes_fp32: float) -> float:
    """Embedding output and logits, and under autocast an FP32 copy of the logits in the loss."""
    return stream * b + logits * b + autocast * bytes_fp32 * logits


def kept_bytes(layers: int, layer: float, once_per_model: float) -> float:
    """Activations without checkpointing: every layer, and once per model."""
    return layers * layer + once_per_model


def recomputed_bytes(stream: int, feed_forward: int, b: int) -> int:
    """The layer that backward computes again: 7 hidden-wide and 3 feed-forward-wide tensors, and one mask."""
    return (7 * stream + 3 * feed_forward) * b + stream


def checkpointed_bytes(layers: int, boundary: float, recomputed: float, logits: int, b: int) -> float:
    """Activations with checkpointing, inside a layer's backward: boundaries, the recomputed layer, the logits."""
    return (layers + 3) * boundary + recomputed + logits * b


def passing_bytes(stream: int, feed_forward: int, b: int) -> int:
    """What a layer holds while a checkpointed forward pass goes through it: 3 hidden-wide and 2 feed-forward-wide tensors."""
    return (3 * stream + 2 * feed_forward) * b


def forward_bytes(
    layers: int, boundary: float, passing: float, logits: int, b: int, autocast: int, bytes_fp32: float
) -> float:
    """What stands in place of the activations in a checkpointed forward pass."""
    return layers * boundary + passing + logits * b + autocast * bytes_fp32 * logits


def quantities(
    *,
    hidden_size: int,
    layers: int,
    feed_forward: int,
    vocabulary: int,
    tokens: int,
    b: int,
    autocast: int,
    checkpointing: bool,
    bytes_fp32: float,
) -> dict[str, float]:
    """Elements (`article_*_elements`) and bytes (`article_*_bytes`) of the activations; `tokens` is B S."""
    stream, inner, logits = tokens * hidden_size, tokens * feed_forward, tokens * vocabulary
    masks = dropout_mask_bytes(stream, inner)
    layer = layer_bytes(stream, inner, b, masks)
    once = once_per_model_bytes(stream, logits, b, autocast, bytes_fp32)
    boundary = bytes_fp32 * stream
    recomputed = recomputed_bytes(stream, inner, b)
    passing = passing_bytes(stream, inner, b)
    kept = kept_bytes(layers, layer, once)
    checkpointed = checkpointed_bytes(layers, boundary, recomputed, logits, b)
    return {
        "article_stream_elements": stream,
        "article_feed_forward_elements": inner,
        "article_logit_elements": logits,
        "article_dropout_mask_bytes": masks,
        "article_layer_bytes": layer,
        "article_once_per_model_bytes": once,
        "article_boundary_bytes": boundary,
        "article_recomputed_bytes": recomputed,
        "article_passing_bytes": passing,
        "article_activations_kept_bytes": kept,
        "article_activations_checkpointed_bytes": checkpointed,
        "article_activations_bytes": checkpointed if checkpointing else kept,
        "article_activations_forward_bytes": forward_bytes(layers, boundary, passing, logits, b, autocast, bytes_fp32),
    }
