"""Ledger: what stands over the layers: saved by all of them, kept by the loop, made once per forward. Units: bytes.

bitsandbytes' INT8 layers keep their inputs as attributes of the graph. Checkpointing does not drop those, and they live as long
as the output of the step does. Under checkpointing the embedding output is a leaf whose gradient is kept as long, too.

Source: bitsandbytes 0.50.2 MatMul8bitLt; transformers 5.24.0; traces (tests/tracer).
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_saved import ATTENTION_INPUTS, MLP_INPUTS, Saved
from builder.reference.ledger_types import BF16, FP32, MASK

TOKEN_ID = 8
"""Bytes of an int64; a step holds the ids and the labels."""


def int8_inputs_layer(step: Step, saved: Saved) -> int:
    """Inputs that the INT8 layers of one layer keep: two norms' outputs, attention's output, the MLP product."""
    if not step.int8:
        return 0
    own_inputs = 2 if step.norms_first or not step.checkpointing else 1  # that of attention may be the boundary
    return own_inputs * step.hidden(step.normed) + step.tokens * step.shape.q_width * step.attention + saved.product


def int8_inputs(step: Step, saved: Saved) -> int:
    """Of all layers. Without checkpointing only those with gradients, and not the input of the shallowest one's q, k, v; of a
    parallel one's MLP neither, and its product where nothing before it has an adapter.
    """
    if not step.int8:
        return 0
    one = int8_inputs_layer(step, saved)
    if step.checkpointing:
        boundaries = 0 if step.norms_first else (step.shape.layers - 1) * step.hidden(step.stream)
        return step.shape.layers * one + boundaries
    unsaved = (1 + step.parallel) * step.hidden(step.normed)
    if step.parallel and not step.targets & set(MLP_INPUTS):
        unsaved += saved.product
    return step.layers_adapted * one - unsaved


def saved_layers(step: Step, saved: Saved, first_unsaved: int) -> int:
    """Boundaries of all layers under checkpointing; else what layers with adapters save, and the KV cache of those below."""
    layers, adapted = step.shape.layers, step.layers_adapted
    if step.checkpointing:
        return step.boundaries + layers * int8_inputs_layer(step, saved)
    kept = adapted * saved.layer - first_unsaved + step.sliding_layers(adapted) * saved.window_extra
    return kept + (layers - adapted) * saved.cache


def masks(step: Step) -> int:
    """Masks: one bool mask for sliding layers under SDPA; one per kind of layer for eager attention."""
    if step.eager:
        return (2 if step.full_every > 1 else 1) * step.tokens * step.sequence * step.stored
    return MASK * step.sequence**2 if step.window_masked else 0


def embedding_kept(step: Step) -> int:
    """The embedding output, which under checkpointing needs a gradient, and the mask of its dropout, where the first boundary is
    another tensor.
    """
    apart = step.drops or step.family.scales_embedding
    return step.hidden(step.stored) * apart + step.residual_mask if step.checkpointing else 0


def positions(step: Step) -> int:
    """Rows of the table of positions, added to the embedding: alive through the forward pass."""
    return step.sequence * step.shape.hidden_size * step.stored if step.family.learned_positions else 0


def output(step: Step, saved: Saved) -> int:
    """What the output of a step keeps alive: logits, KV cache, INT8 inputs, the checkpointing leaf and its gradient."""
    logits = 0 if step.fused_loss else step.tokens * step.shape.vocabulary * step.logit
    leaf = 2 * step.hidden(step.stored) if step.checkpointing else 0
    return logits + step.shape.layers * saved.cache + int8_inputs(step, saved) + leaf


def embedding_cast(step: Step) -> int:
    """The BF16 cast of the embedding output, which under checkpointing is a leaf that needs a gradient, in autocast's cache: where no
    norm comes before the first cast.
    """
    casts = step.plain or bool(step.targets & set(ATTENTION_INPUTS))
    return step.hidden(BF16) if step.checkpointing and not step.norms_first and step.stream_casts and casts else 0


def quantities(step: Step, saved: Saved, held: float, casts: int, first_unsaved: int) -> dict[str, float]:
    """The standing sums."""
    ids = 2 * TOKEN_ID * step.tokens
    tables = FP32 if step.family.rotates_in_fp32 else step.stored
    turned = step.shape.head_dim * step.rotary_share
    once = ids + 2 * step.family.rotary_tables * step.sequence * turned * tables + embedding_kept(step)
    kept_output = output(step, saved)
    previous = kept_output if step.output_kept else 0
    return {
        "int8_inputs_layer_bytes": int8_inputs_layer(step, saved),
        "int8_inputs_bytes": int8_inputs(step, saved),
        "saved_layers_bytes": saved_layers(step, saved, first_unsaved),
        "token_ids_bytes": ids,
        "embedding_kept_bytes": embedding_kept(step),
        "once_bytes": once,
        "positions_bytes": positions(step),
        "masks_bytes": masks(step) + positions(step),
        "masks_kept_bytes": masks(step) if step.checkpointing else 0,
        "output_bytes": kept_output,
        "previous_output_bytes": previous,
        "embedding_cast_bytes": embedding_cast(step),
        "forward_standing_bytes": held + casts + once + embedding_cast(step) + previous,
    }
