"""Ledger: adapters, their gradients, optimizer states and autocast's casts. Units: bytes.

    Adam, fused Adam   two tensors in the adapter's type
    8-bit Adam         two bytes per parameter + two FP32 scales per 256; a matrix below 4,096 elements keeps FP32 states
    SGD                none (no momentum)

Foreach Adam holds one more set of tensors while it steps. Autocast caches the BF16 casts of FP32 adapters.
Source: PyTorch 2.13.0 torch.optim; bitsandbytes 0.50.2 Optimizer2State; torch.autocast.
"""

from __future__ import annotations

from builder.reference.ledger_choices import BF16, FP32, Step
from builder.reference.ledger_frozen_base import matrices

SMALL_MATRIX, BLOCK = 4096, 256


def adapter_matrices(step: Step) -> list[int]:
    """Elements of lora_A and lora_B of every adapter of one layer; those of experts have their ranks together."""
    sizes, ranks = matrices(step), {}
    if step.experts:
        sizes["router"] = (step.shape.hidden_size, step.experts)
        ranks = {"gate_up": 2 * step.experts, "down": step.experts}
    return [step.rank * ranks.get(name, 1) * width for name, pair in sizes.items() if name in step.targets for width in pair]


def states_8bit(elements: int) -> int:
    """Bytes of the 8-bit Adam states of one matrix."""
    if elements < SMALL_MATRIX:
        return 2 * FP32 * elements
    return 2 * elements + 2 * FP32 * -(-elements // BLOCK)


def optimizer_states_bytes(step: Step) -> int:
    """States of all adapters."""
    elements = adapter_matrices(step)
    if step.optimizer == "8-bit Adam":
        return step.layers_adapted * sum(map(states_8bit, elements))
    tensors = 2 if step.optimizer in ("Adam", "Adam fused") else 0
    return tensors * step.adapter * step.layers_adapted * sum(elements)


def quantities(step: Step, frozen_base: float) -> dict[str, float]:
    """Adapters, gradients, states, temporaries of the step, casts, and `held_bytes`, alive all the time."""
    elements = adapter_matrices(step)
    per_layer = sum(elements)
    parameters = per_layer * step.layers_adapted
    adapters, states = parameters * step.adapter, optimizer_states_bytes(step)
    casts = BF16 if step.autocast and step.adapter == FP32 else 0
    return {
        "adapter_weights_bytes": adapters,
        "gradients_bytes": adapters,
        "gradients_layer_bytes": per_layer * step.adapter,
        "layer_8bit_bytes": sum(map(states_8bit, elements)),
        "optimizer_states_bytes": states,
        "step_temporary_bytes": adapters if step.optimizer == "Adam" else 0,
        "held_bytes": frozen_base + adapters + states,
        "adapter_casts_bytes": parameters * casts,
        "adapter_casts_layer_bytes": per_layer * casts,
    }
