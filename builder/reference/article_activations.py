"""Article line item: the activations, with and without checkpointing.

Notation: B batch, S sequence, d hidden size, ff feed-forward width, V vocabulary, nh and nkv heads and KV heads,
Lb layers from the shallowest adapter up, x = B S d elements, b bytes of a computed element, amp 1 under autocast. Bytes:

    segment             (6x + 2x nkv / nh + 4 B S ff) b        attention half and gated MLP of a layer
    layer               segment + 2x b                          with the MLP's norm
    dropout masks       2x + B S ff when dropout > 0            per layer, one byte an element
    once per model      x b + B S V b + amp x 3 x 4 B S V       final norm, logits, FP32 copies in the loss
    boundary            4x                                      what a checkpointed layer keeps, in FP32

    no checkpointing    Lb (layer + dropout masks) + once per model
    checkpointing       (Lb + 3) boundary + segment + B S V b + amp x 2 x 4 B S V
    checkpointed forward    Lb boundary + segment + B S V b + amp x 4 B S V

The last is what stands in place of the activations while the forward pass is the peak (`article_peak`). Under
checkpointing the article adds no dropout masks.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

from builder.reference.shape import Shape


def tokens_per_step(batch_size: int, sequence_length: int) -> int:
    """B S, the tokens of one forward and backward pass."""
    return batch_size * sequence_length


def segment_bytes(stream: int, feed_forward: int, heads: int, kv_heads: int, b: int) -> float:
    """What the attention half and the gated MLP of a layer keep: 6 hidden-wide, 2 KV-wide and 4 feed-forward-wide tensors.

    `stream` is x and `feed_forward` is B S ff, both in elements. The KV tensors are counted as x nkv / nh.
    """
    return (6 * stream + 2 * stream * kv_heads / heads + 4 * feed_forward) * b


def layer_bytes(segment: float, stream: int, b: int) -> float:
    """What a whole layer keeps without checkpointing, its dropout masks apart: the segment and 2 hidden-wide tensors."""
    return segment + 2 * stream * b


def dropout_mask_bytes(stream: int, feed_forward: int, dropout: float) -> int:
    """One-byte masks of a layer: 2 hidden-wide and 1 feed-forward-wide when dropout is above 0, else nothing."""
    return 2 * stream + feed_forward if dropout > 0 else 0


def once_per_model_bytes(stream: int, logits: int, b: int, autocast: int, bytes_fp32: float) -> float:
    """Final hidden state and logits, and under autocast 3 FP32 tensors of the logits' size in the loss."""
    return stream * b + logits * b + autocast * 3 * bytes_fp32 * logits


def kept_bytes(layers: int, layer: float, masks: float, once_per_model: float) -> float:
    """Activations without checkpointing: every layer from the shallowest adapter up, and once per model."""
    return layers * (layer + masks) + once_per_model


def checkpointed_bytes(
    layers: int, boundary: float, segment: float, logits: int, b: int, autocast: int, bytes_fp32: float
) -> float:
    """Activations with checkpointing, inside a layer's backward: boundaries, one recomputed segment, the loss."""
    return (layers + 3) * boundary + segment + logits * b + autocast * 2 * bytes_fp32 * logits


def forward_bytes(
    layers: int, boundary: float, segment: float, logits: int, b: int, autocast: int, bytes_fp32: float
) -> float:
    """What stands in place of the activations at the end of a checkpointed forward pass."""
    return layers * boundary + segment + logits * b + autocast * bytes_fp32 * logits


def quantities(
    *,
    shape: Shape,
    layers: int,
    tokens: int,
    b: int,
    autocast: int,
    dropout: float,
    checkpointing: bool,
    bytes_fp32: float,
) -> dict[str, float]:
    """Elements (`article_*_elements`) and bytes (`article_*_bytes`) of the activations; `layers` is Lb, `tokens` is B S."""
    stream = tokens * shape.hidden_size
    feed_forward = tokens * shape.feed_forward
    logits = tokens * shape.vocabulary
    segment = segment_bytes(stream, feed_forward, shape.heads, shape.kv_heads, b)
    layer = layer_bytes(segment, stream, b)
    masks = dropout_mask_bytes(stream, feed_forward, dropout)
    once = once_per_model_bytes(stream, logits, b, autocast, bytes_fp32)
    boundary = bytes_fp32 * stream
    kept = kept_bytes(layers, layer, masks, once)
    checkpointed = checkpointed_bytes(layers, boundary, segment, logits, b, autocast, bytes_fp32)
    return {
        "article_stream_elements": stream,
        "article_feed_forward_elements": feed_forward,
        "article_logit_elements": logits,
        "article_segment_bytes": segment,
        "article_layer_bytes": layer,
        "article_dropout_mask_bytes": masks,
        "article_once_per_model_bytes": once,
        "article_boundary_bytes": boundary,
        "article_activations_kept_bytes": kept,
        "article_activations_checkpointed_bytes": checkpointed,
        "article_activations_bytes": checkpointed if checkpointing else kept,
        "article_activations_forward_bytes": forward_bytes(
            layers, boundary, segment, logits, b, autocast, bytes_fp32
        ),
    }
