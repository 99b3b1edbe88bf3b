"""The LoRA adapters: which projections of which layers have one, and how many parameters that trains.

A rank-r adapter of a projection from `in` to `out` is a pair of matrices, r x in and out x r:

    trainable_parameters = rank x adapter_layers x sum over targeted projections of (in + out)

Unit: parameters. "All linear" means the seven projections of a layer, not the output head.

Source: PEFT, LoraLayer.update_layer (lora_A: in -> r, lora_B: r -> out) and target_modules="all-linear".
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.shape import Shape

PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
CUSTOM = "Custom"
TARGETS = {
    "All linear": PROJECTIONS,
    "q, v": ("q", "v"),
    "q, k, v, o": ("q", "k", "v", "o"),
}
"""Projections that each choice of `lora_targets` adapts; `Custom` takes those switched on one by one."""


def targeted(lora_targets: str, switched_on: Mapping[str, bool]) -> dict[str, int]:
    """1 for each projection that has an adapter, else 0. `switched_on` counts only when lora_targets is Custom."""
    chosen = [p for p in PROJECTIONS if switched_on[p]] if lora_targets == CUSTOM else TARGETS[lora_targets]
    return {projection: int(projection in chosen) for projection in PROJECTIONS}


def in_and_out(shape: Shape) -> dict[str, int]:
    """Input width + output width of each projection, elements."""
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    return {"q": d + q, "k": d + kv, "v": d + kv, "o": q + d, "gate": d + ff, "up": d + ff, "down": ff + d}


def adapter_layers(layers: int, top_layers: int | None) -> int:
    """Layers with adapters, which are also those whose activations are kept: the top N, or all when N is blank."""
    return layers if top_layers is None else min(top_layers, layers)


def trainable_parameters(rank: int, width_per_layer: int, layers: int) -> int:
    """rank x (sum of in + out of a layer's targets) x layers with adapters."""
    return rank * width_per_layer * layers


def quantities(
    shape: Shape, lora_targets: str, switched_on: Mapping[str, bool], rank: int, top_layers: int | None
) -> dict[str, int]:
    """`<projection>_targeted` and `<projection>_adapter_width`, `adapter_width_per_layer`, `adapter_layers`,
    `trainable_parameters`.
    """
    has_adapter = targeted(lora_targets, switched_on)
    widths = {projection: has_adapter[projection] * width for projection, width in in_and_out(shape).items()}
    width_per_layer = sum(widths.values())
    layers = adapter_layers(shape.layers, top_layers)
    return {
        **{f"{projection}_targeted": value for projection, value in has_adapter.items()},
        **{f"{projection}_adapter_width": value for projection, value in widths.items()},
        "adapter_width_per_layer": width_per_layer,
        "adapter_layers": layers,
        "trainable_parameters": trainable_parameters(rank, width_per_layer, layers),
    }
