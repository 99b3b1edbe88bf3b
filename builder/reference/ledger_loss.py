"""Ledger: the final norm, the head and the loss: three moments around them. Units: bytes.

Full logits: in the head's type, in FP32, their log-softmax in FP32; at the start of backward two FP32 gradients of that size.
With BF16 logits: 2 + 4 + 4 + 4 = 14 bytes per token and vocabulary entry.
Fused: the head and the loss over chunks of tokens, whose gradient of the hidden states is made in the forward pass.

Source: transformers ForCausalLMLoss; Liger Kernel 0.8.5 fused linear cross-entropy; traces (tests/tracer).
"""

from __future__ import annotations

from math import ceil

from builder.reference.ledger_choices import Step
from builder.reference.ledger_forward import weights_before
from builder.reference.ledger_types import BF16, FP32


def chunk_tokens(step: Step) -> int:
    """Tokens of a chunk of the fused loss: the next power of two of tokens / ceil(vocabulary / hidden size)."""
    target = ceil(step.tokens / ceil(step.shape.vocabulary / step.shape.hidden_size))
    return min(step.tokens, 1 << (target - 1).bit_length())


def chunk_work(step: Step) -> int:
    """Logits of a chunk; under autocast with an FP32 head also casts of head and chunk."""
    tokens, vocabulary, width = chunk_tokens(step), step.shape.vocabulary, step.shape.hidden_size
    if step.normed_casts:
        return BF16 * (step.stored_casts * vocabulary * width + tokens * (vocabulary + width))
    return tokens * vocabulary * step.stored


def norm_made(step: Step) -> int:
    """What the final norm makes: three FP32 tensors, and its output where it is cast late; of LayerNorm what it saves and its output."""
    if step.family.layer_norm:
        return step.hidden(step.norm_input) + step.hidden(step.normed)
    late = step.hidden(BF16) if step.family.late_norm_cast and step.stream == BF16 else 0
    return 3 * step.hidden(FP32) + late


def norm_work(step: Step, masks: int) -> int:
    """The final norm: what it makes and two statistics; its input, the embedding output and the masks where nothing else keeps them."""
    own_input = 0 if step.norm_input == step.stream else step.hidden(step.stream)
    kept = 2 * weights_before(step) if step.checkpointing else masks + step.hidden(step.stored)
    return norm_made(step) + own_input + kept + 2 * FP32 * step.tokens


def norm_backward(step: Step) -> int:
    """The most that a norm's backward holds: five FP32 tensors; of LayerNorm the gradients of its output and of its input."""
    if step.family.layer_norm:
        return step.hidden(step.normed) + step.hidden(step.norm_input)
    return 5 * step.hidden(FP32)


def quantities(step: Step, standing: dict[str, float], held: float, casts: int, norm: int) -> dict[str, float]:
    """In the loss, after forward, at the start of backward; and what either kind of loss holds."""
    tokens, vocabulary = step.tokens, step.shape.vocabulary
    hidden, labels = step.hidden(step.normed), standing["token_ids_bytes"]
    logits, fp32 = tokens * vocabulary * step.logit, tokens * vocabulary * FP32
    head_cast = BF16 * vocabulary * step.shape.hidden_size if step.stored_casts else 0
    full_saved = logits + fp32 + head_cast + (logits if step.family.logit_softcap else 0)
    full_work = norm + full_saved + (fp32 if step.logit < FP32 else 0) + hidden + labels
    fused_work = norm + 2 * hidden + labels + FP32 * tokens + chunk_work(step)
    saved, backward = (hidden, norm_backward(step) - hidden) if step.fused_loss else (full_saved, 2 * fp32)
    work = max(norm_work(step, standing["masks_bytes"]), fused_work if step.fused_loss else full_work)
    layers, kept = standing["saved_layers_bytes"], standing["masks_kept_bytes"]
    after = held + layers + (0 if step.checkpointing else casts) + norm + saved + standing["once_bytes"] + kept
    return {
        "chunk_tokens": chunk_tokens(step),
        "chunk_work_bytes": chunk_work(step),
        "norm_made_bytes": norm_made(step),
        "norm_work_bytes": norm_work(step, standing["masks_bytes"]),
        "norm_backward_bytes": norm_backward(step),
        "full_loss_saved_bytes": full_saved,
        "full_loss_work_bytes": full_work,
        "fused_loss_work_bytes": fused_work,
        "vocabulary_fp32_bytes": fp32,
        "logits_bytes": logits,
        "loss_at_work_bytes": work,
        "in_the_loss_bytes": standing["forward_standing_bytes"] + layers + kept + work,
        "after_forward_bytes": after,
        "start_of_backward_bytes": after + backward,
    }
