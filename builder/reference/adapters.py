"""The LoRA adapters: which projections of which layers have one, and how many parameters that trains.

A rank-r adapter of a projection from `in` to `out` is a pair of matrices, r x in and out x r:

    trainable_parameters = rank x adapter_layers x sum over targeted projections of (in + out)

Some families hold q, k and v, or gate and up, as one projection (Phi-3: qkv_proj, gate_up_proj). It takes one adapter, and any
of its parts as a target means the whole:

    qkv       d + q + 2 kv        gate_up       d + 2 ff

Unit: parameters. "All linear" means every projection of a layer, not the output head.

Source: PEFT, LoraLayer.update_layer (lora_A: in -> r, lora_B: r -> out) and target_modules="all-linear"; transformers,
Phi3Attention.qkv_proj and Phi3MLP.gate_up_proj.
"""

from __future__ import annotations

from typing import Collection, Mapping

from builder.reference.shape import Shape

PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
CUSTOM = "Custom"
TARGETS = {
    "All linear": PROJECTIONS,
    "q, v": ("q", "v"),
    "q, k, v, o": ("q", "k", "v", "o"),
}
"""Projections that each choice of `lora_targets` adapts; `Custom` takes those switched on one by one."""
FUSED = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up")}
"""Projections that a family may hold as one, and the name of that one."""


def targeted(lora_targets: str, switched_on: Mapping[str, bool]) -> dict[str, int]:
    """1 for each projection that is a target, else 0. `switched_on` counts only when lora_targets is Custom."""
    chosen = [p for p in PROJECTIONS if switched_on[p]] if lora_targets == CUSTOM else TARGETS[lora_targets]
    return {projection: int(projection in chosen) for projection in PROJECTIONS}


def in_and_out(shape: Shape) -> dict[str, int]:
    """Input width + output width of each projection, elements."""
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    return {"q": d + q, "k": d + kv, "v": d + kv, "o": q + d, "gate": d + ff, "up": d + ff, "down": ff + d}


def fused_in_and_out(shape: Shape) -> dict[str, int]:
    """Input width + output width of the two projections that a family may fuse, elements."""
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    return {"qkv": d + q + 2 * kv, "gate_up": d + 2 * ff}


def fused_targeted(is_target: Mapping[str, int], fused: Collection[str]) -> dict[str, int]:
    """1 for each projection of `fused` of which some part is a target, else 0."""
    return {name: int(name in fused and any(is_target[part] for part in parts)) for name, parts in FUSED.items()}


def adapter_widths(shape: Shape, is_target: Mapping[str, int], fused: Collection[str]) -> dict[str, int]:
    """Input width + output width of each projection that has an adapter, 0 for the others; a part of a fused one has none."""
    inside = {part for name in fused for part in FUSED[name]}
    apart = {p: 0 if p in inside else is_target[p] * width for p, width in in_and_out(shape).items()}
    whole = fused_targeted(is_target, fused)
    return apart | {name: whole[name] * width for name, width in fused_in_and_out(shape).items()}


def adapter_layers(layers: int, top_layers: int | None) -> int:
    """Layers with adapters, which are also those whose activations are kept: the top N, or all when N is blank."""
    return layers if top_layers is None else min(top_layers, layers)


def trainable_parameters(rank: int, width_per_layer: int, layers: int) -> int:
    """rank x (sum of in + out of a layer's targets) x layers with adapters."""
    return rank * width_per_layer * layers


def quantities(
    shape: Shape,
    lora_targets: str,
    switched_on: Mapping[str, bool],
    rank: int,
    top_layers: int | None,
    fused: Collection[str],
) -> dict[str, int]:
    """`<projection>_targeted` and `<projection>_adapter_width`, those of the fused ones among them, `fused_qkv`,
    `fused_gate_up`, `adapter_width_per_layer`, `adapter_layers`, `trainable_parameters`.

    `fused` names what the family holds as one projection: `qkv`, `gate_up`, both or none.
    """
    is_target = targeted(lora_targets, switched_on)
    widths = adapter_widths(shape, is_target, fused)
    width_per_layer = sum(widths.values())
    layers = adapter_layers(shape.layers, top_layers)
    return {
        **{f"{projection}_targeted": value for projection, value in is_target.items()},
        **{f"fused_{name}": int(name in fused) for name in FUSED},
        **{f"{name}_targeted": value for name, value in fused_targeted(is_target, fused).items()},
        **{f"{projection}_adapter_width": value for projection, value in widths.items()},
        "adapter_width_per_layer": width_per_layer,
        "adapter_layers": layers,
        "trainable_parameters": trainable_parameters(rank, width_per_layer, layers),
    }
