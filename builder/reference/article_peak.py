"""Article: the peak of allocated memory, the moment that sets it, and what of each line item is counted in it.

    held              what stands from before the step to after it: weights of every kind + optimizer states
    no checkpointing  peak = held + gradients + weight cache + activations + workspace
    checkpointing     peak = the largest of
        backward      held + activations
        optimizer     held + gradients + Adam's temporary
        forward       held + weight cache + activations of the forward pass

Fine-tuning holds a frozen base and adapters, and has the workspace; training holds the weights, and has none. Adam's temporary is the gradients again under Adam, 0 under 8-bit Adam. Units: bytes. Without checkpointing the article
does not split the peak by moment: the first sum is its only one, at the start of backward, and the other two moments count
as 0. When two moments under checkpointing are equal the first in the order above is named.

Source: the published fine-tuning and training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

BACKWARD, OPTIMIZER, FORWARD = "backward", "optimizer", "forward"
COPIES_OF_GRADIENTS_IN_STEP = {"Adam": 1, "8-bit Adam": 0}


@dataclass(frozen=True)
class Items:
    """The article's line items, bytes; `activations` and `workspace` are those that apply to the job.

    `standing` and `workspace` are by name of the item, `cache_name` is the name of the cache: each book has its own.
    """

    standing: Mapping[str, float]
    gradients: float
    cache_name: str
    cache: float
    activations: float
    activations_forward: float
    optimizer_choice: str
    workspace: Mapping[str, float] = field(default_factory=dict)

    @property
    def adam_temporary(self) -> float:
        """What the optimizer step holds besides states and gradients."""
        return self.gradients * COPIES_OF_GRADIENTS_IN_STEP[self.optimizer_choice]

    @property
    def held(self) -> float:
        """What is allocated from before the step to after it."""
        return sum(self.standing.values())


def backward_bytes(items: Items, checkpointing: bool) -> float:
    """Without checkpointing the sum of all terms; with it, what is alive inside a layer's backward."""
    if checkpointing:
        return items.held + items.activations
    return items.held + items.gradients + items.cache + items.activations + sum(items.workspace.values())


def optimizer_bytes(items: Items, checkpointing: bool) -> float:
    """What is alive in the optimizer step; 0 without checkpointing, where it does not count."""
    return items.held + items.gradients + items.adam_temporary if checkpointing else 0


def forward_bytes(items: Items, checkpointing: bool) -> float:
    """What is alive at the end of the forward pass; 0 without checkpointing, where it does not count."""
    return items.held + items.cache + items.activations_forward if checkpointing else 0


def moment_of_peak(backward: float, optimizer: float, forward: float) -> str:
    """The moment that sets the peak: BACKWARD, OPTIMIZER or FORWARD, the first of those that are equal."""
    if backward >= max(optimizer, forward):
        return BACKWARD
    return OPTIMIZER if optimizer >= forward else FORWARD


def at_peak(items: Items, moment: str, checkpointing: bool) -> dict[str, float]:
    """What of each line item is counted in the moment of the peak, bytes; together they are the peak."""
    counted = {**items.standing, "article_gradients": 0, items.cache_name: 0, "article_activations": 0, **dict.fromkeys(items.workspace, 0)}
    if not checkpointing:
        counted |= {"article_gradients": items.gradients, items.cache_name: items.cache, "article_activations": items.activations, **items.workspace}
    elif moment == BACKWARD:
        counted["article_activations"] = items.activations
    elif moment == OPTIMIZER:
        counted["article_gradients"] = items.gradients + items.adam_temporary
    else:
        counted |= {items.cache_name: items.cache, "article_activations": items.activations_forward}
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
