"""Training: the final norm, the head and the loss; and the start of backward. Units: bytes.

Decoder: logits as computed, in FP32, and their log-softmax in FP32; at the start of backward two FP32 gradients of that size.
With BF16 logits: 2 + 4 + 4 + 4 = 14 bytes per token and vocabulary entry. Encoder: the same under autocast, else in its own type;
its loop lets go of the last logits once the new ones are there.
Source: transformers ForCausalLMLoss; torch.nn.CrossEntropyLoss; traces (tests/tracer/full.py).
"""

from __future__ import annotations

from builder.reference.training_choices import FP32, TrainingStep
from builder.reference.training_saved import norm


def loss_element(step: TrainingStep) -> int:
    """Of the log-softmax."""
    return FP32 if step.autocast or not step.encoder else step.stored


def head_input(step: TrainingStep) -> int:
    """What the head multiplies."""
    return step.hidden(step.computed)


def final_norm(step: TrainingStep) -> int:
    """What the final norm saves; the encoder has none."""
    return 0 if step.encoder else norm(step)


def quantities(step: TrainingStep, values: dict[str, float]) -> dict[str, float]:
    """`in_the_loss_bytes`, `after_forward_bytes`, `start_of_backward_bytes` and their points."""
    layers = values["saved_layers_bytes"] + values["mask_kept_bytes"]
    standing = values["held_bytes"] + values["once_bytes"] + layers + final_norm(step) + head_input(step)
    casts, head = values["layers_casts_bytes"], values["head_cast_bytes"]
    logits, softened = values["logits_bytes"], step.logits(loss_element(step))
    upcast = softened if step.computed < loss_element(step) else 0
    apart = step.hidden(step.stream) if step.cast else 0  # the head's input before its cast
    previous = values["previous_output_bytes"]
    loss = standing + casts + head + logits + upcast + softened
    loss += 0 if step.encoder else previous + apart
    at_head = standing + casts + head + apart + logits + previous if step.encoder else 0
    after = standing + head + (0 if step.checkpointing else casts) + logits + softened
    head_gradient = values["embedding_matrix_parameters"]
    start = after + 2 * softened
    start_head = after - softened + logits + step.hidden(step.computed) + step.computed * head_gradient
    start_weight = after - softened + step.hidden(step.computed) + (step.computed + step.stored - step.cast) * head_gradient if step.cast else 0
    return {
        "loss_standing_bytes": standing + head + logits,
        "final_norm_saved_bytes": final_norm(step),
        "head_input_bytes": head_input(step),
        "log_softmax_bytes": softened,
        "point_head_bytes": at_head,
        "point_loss_bytes": loss,
        "in_the_loss_bytes": max(at_head, loss),
        "after_forward_bytes": after,
        "point_start_bytes": start,
        "point_start_head_bytes": start_head,
        "point_start_weight_bytes": start_weight,
        "start_of_backward_bytes": max(start, start_head, start_weight),
    }
