"""The LoRA adapters: which projections of which layers have one, and how many parameters that trains.

A rank-r adapter of a projection from `in` to `out` is a pair of matrices, r x in and out x r:

    trainable_parameters = rank x adapter_layers x sum over targeted projections of (in + out)

Some families hold q, k and v, or gate and up, as one projection (Phi-3: qkv_proj, gate_up_proj). It takes one adapter, and any
of its parts as a target means the whole:

    qkv       d + q + 2 kv        gate_up       d + 2 ff

An MLP without a gate has up and down. PEFT adapts the experts of a layer as a whole (rank x experts; twice that for the fused
gate and up, which stand for two), and the router where all linear layers are targets; some experts it leaves alone.

Unit: parameters. "All linear" means every projection of a layer, not the output head.

Source: PEFT 0.21.2, LoraLayer.update_layer (lora_A: in -> r, lora_B: r -> out), target_modules="all-linear",
utils/transformers_weight_conversion.py for experts; transformers, Phi3Attention.qkv_proj and Phi3MLP.gate_up_proj.
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.shape import Shape

PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
MLP = ("gate", "up", "gate_up", "down")
CUSTOM = "Custom"
TARGETS = {
    "All linear": (*PROJECTIONS, "router"),
    "q, v": ("q", "v"),
    "q, k, v, o": ("q", "k", "v", "o"),
}
"""Projections that each choice of `lora_targets` adapts; `Custom` takes those switched on one by one."""
FUSED = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up")}
"""Projections that a family may hold as one, and the name of that one."""


def targeted(lora_targets: str, switched_on: Mapping[str, bool]) -> dict[str, int]:
    """1 for each projection that is a target, else 0. `switched_on`, which has no router, counts only when lora_targets is Custom."""
    chosen = [p for p in PROJECTIONS if switched_on[p]] if lora_targets == CUSTOM else TARGETS[lora_targets]
    return {projection: int(projection in chosen) for projection in (*PROJECTIONS, "router")}


def in_and_out(shape: Shape) -> dict[str, int]:
    """Input width + output width of each projection, elements."""
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    return {"q": d + q, "k": d + kv, "v": d + kv, "o": q + d, "gate": d + ff, "up": d + ff, "down": ff + d}


def fused_in_and_out(shape: Shape) -> dict[str, int]:
    """Input width + output width of the two projections that a family may fuse, elements."""
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    return {"qkv": d + q + 2 * kv, "gate_up": d + 2 * ff}


def here(family: object) -> list[str]:
    """The projections of a layer that may have an adapter, a fused one in place of its parts; `router` among them."""
    inside = {part for name in family.fused_projections for part in FUSED[name]}
    names = [name for name in PROJECTIONS if name not in inside and (family.gated_mlp or name != "gate")] + list(family.fused_projections)
    if not family.experts:
        return names
    return [*names, "router"] if family.adapts_experts else [name for name in names if name not in MLP]


def adapted(is_target: Mapping[str, int], family: object) -> set[str]:
    """The projections that get an adapter: any part of a fused one as a target means the whole."""
    return {name for name in here(family) if any(is_target[part] for part in FUSED.get(name, (name,)))}


def adapter_widths(shape: Shape, is_target: Mapping[str, int], family: object, experts: int | None) -> dict[str, int]:
    """Input width + output width of each projection that has an adapter, 0 for the others, times the ranks that experts take."""
    widths = in_and_out(shape) | fused_in_and_out(shape) | {"router": shape.hidden_size + (experts or 1)}
    ranks = {"gate_up": 2 * experts, "down": experts} if experts else {}
    found = adapted(is_target, family)
    return {name: width * ranks.get(name, 1) if name in found else 0 for name, width in widths.items()}


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
    family: object,
    experts: int | None,
) -> dict[str, int]:
    """`<projection>_targeted` and `<projection>_adapter_width`, those of the fused ones among them, `fused_qkv`,
    `fused_gate_up`, `adapter_width_per_layer`, `adapter_layers`, `trainable_parameters`; `experts` are those of a layer, None in a
    dense model.
    """
    is_target = targeted(lora_targets, switched_on)
    widths = adapter_widths(shape, is_target, family, experts)
    width_per_layer = sum(widths.values())
    layers = adapter_layers(shape.layers, top_layers)
    return {
        **{f"{projection}_targeted": is_target[projection] for projection in PROJECTIONS},
        **{f"fused_{name}": int(name in family.fused_projections) for name in FUSED},
        **{f"{name}_targeted": int(name in adapted(is_target, family)) for name in (*FUSED, "router")},
        **{f"{projection}_adapter_width": value for projection, value in widths.items()},
        "adapter_width_per_layer": width_per_layer,
        "adapter_layers": layers,
        "trainable_parameters": trainable_parameters(rank, width_per_layer, layers),
    }
