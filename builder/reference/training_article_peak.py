"""Article of the training book: the peak of allocated memory, the moment that sets it, and what of each line item is counted in it.

    held              weights + optimizer states
    no checkpointing  peak = held + gradients + weight cache + activations
    checkpointing     peak = the largest of
        backward      held + activations
        optimizer     held + gradients + Adam's temporary
        forward       held + weight cache + activations of the forward pass

Adam's temporary is the gradients again under Adam, 0 under 8-bit Adam. Units: bytes. Without checkpointing the article
does not split the peak by moment: the first sum is its only one, at the start of backward, and the other two moments count
as 0. When two moments under checkpointing are equal the first in the order above is named.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

from dataclasses import dataclass

BACKWARD, OPTIMIZER, FORWARD = "backward", "optimizer", "forward"
COPIES_OF_GRADIENTS_IN_STEP = {"Adam": 1, "8-bit Adam": 0}


@dataclass(frozen=True)
class Items:
    """The article's line items, bytes; `activations` are those that apply to the job."""

    weights: float
    gradients: float
    optimizer_states: float
    weight_cache: float
    activations: float
    activations_forward: float
    optimizer_choice: str

    @property
    def adam_temporary(self) -> float:
        """What the optimizer step holds besides weights, states and gradients."""
        return self.gradients * COPIES_OF_GRADIENTS_IN_STEP[self.optimizer_choice]

    @property
    def held(self) -> float:
        """What is allocated from before the step to after it."""
        return self.weights + self.optimizer_states


def backward_bytes(items: Items, checkpointing: bool) -> float:
    """Without checkpointing the sum of all terms; with it, what is alive inside a layer's backward, before any gradient."""
    if checkpointing:
        return items.held + items.activations
    return items.held + items.gradients + items.weight_cache + items.activations


def optimizer_bytes(items: Items, checkpointing: bool) -> float:
    """What is alive in the optimizer step; 0 without checkpointing, where it does not count."""
    return items.held + items.gradients + items.adam_temporary if checkpointing else 0


def forward_bytes(items: Items, checkpointing: bool) -> float:
    """What is alive at the end of the forward pass; 0 without checkpointing, where it does not count."""
    return items.held + items.weight_cache + items.activations_forward if checkpointing else 0


def moment_of_peak(backward: float, optimizer: float, forward: float) -> str:
    """The moment that sets the peak: BACKWARD, OPTIMIZER or FORWARD, the first of those that are equal."""
    if backward >= max(optimizer, forward):
        return BACKWARD
    return OPTIMIZER if optimizer >= forward else FORWARD


def at_peak(items: Items, moment: str, checkpointing: bool) -> dict[str, float]:
    """What of each line item is counted in the moment of the peak, bytes; the five sum to the peak."""
    counted = {
        "article_weights": items.weights,
        "article_gradients": 0,
        "article_optimizer_states": items.optimizer_states,
        "article_weight_cache": 0,
        "article_activations": 0,
    }
    if not checkpointing:
        counted["article_gradients"] = items.gradients
        counted["article_weight_cache"] = items.weight_cache
        counted["article_activations"] = items.activations
    elif moment == BACKWARD:
        counted["article_activations"] = items.activations
    elif moment == OPTIMIZER:
        counted["article_gradients"] = items.gradients + items.adam_temporary
    else:
        counted["article_weight_cache"] = items.weight_cache
        counted["article_activations"] = items.activations_forward
    return {f"{item}_at_peak_bytes": value for item, value in counted.items()}


def quantities(items: Items, checkpointing: bool) -> dict[str, float]:
    """Held, the three moments, the peak, which moment sets it (1/0), and each item at the peak."""
    backward = backward_bytes(items, checkpointing)
    optimizer = optimizer_bytes(items, checkpointing)
    forward = forward_bytes(items, checkpointing)
    moment = moment_of_peak(backward, optimizer, forward)
    return {
        "article_held_bytes": items.held,
        "article_adam_temporary_bytes": items.adam_temporary,
        "article_peak_backward_bytes": backward,
        "article_peak_optimizer_bytes": optimizer,
        "article_peak_forward_bytes": forward,
        "article_peak_allocated_bytes": max(backward, optimizer, forward),
        "article_peak_is_backward": int(moment == BACKWARD),
        "article_peak_is_optimizer": int(moment == OPTIMIZER),
        "article_peak_is_forward": int(moment == FORWARD),
        **at_peak(items, moment, checkpointing),
    }
