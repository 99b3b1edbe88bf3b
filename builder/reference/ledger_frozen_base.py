"""Ledger: the frozen base, by storage format. Units: bytes.

    projections   weight bytes x weights of the seven projections of every layer, + scales where they are quantised
    all else      embedding, output head, norms, biases, projections that transformers does not quantise (subclasses of Linear,
                  experts held as one tensor): 2 bytes, or 4 with an FP32 base or after k-bit preparation

NF4: half a byte per weight and, per block of 64, an FP32 scale, or with double quantisation a byte and 1/256 of an FP32; INT8:
one FP32 scale per output. Code tables: allocator blocks of 512 bytes (four such with double quantisation: code, second code of
1,024 bytes, offset).
Source: bitsandbytes 0.50.2 QuantState and Int8Params; PEFT prepare_model_for_kbit_training.
"""

from __future__ import annotations

from builder.reference.adapters import MLP
from builder.reference.ledger_choices import FP32, INT8, Step

NF4_BLOCK, SCALES_PER_SECOND_SCALE = 64, 256
TABLE_BYTES = {"NF4": 512, "NF4 double-quantised": 2048}


def matrices(step: Step) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of each projection of a layer, a fused one under its own name; elements."""
    shape, family = step.shape, step.family
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    attention = {"qkv": (d, q + 2 * kv)} if family.fused_qkv else {"q": (d, q), "k": (d, kv), "v": (d, kv)}
    mlp = {"gate_up": (d, 2 * ff)} if family.fused_gate_up else {"gate": (d, ff), "up": (d, ff)} if family.gated_mlp else {"up": (d, ff)}
    return {**attention, "o": (q, d), **mlp, "down": (ff, d)}


def stored(step: Step) -> list[tuple[int, int]]:
    """(inputs, outputs) of each projection of a layer that a storage format acts on: those that transformers would quantise."""
    attention, mlp = step.family.quantises_attention, step.family.quantises_mlp
    return [sizes for name, sizes in matrices(step).items() if (mlp if name in MLP else attention)]


def projection_bytes(step: Step) -> float:
    """Weights and scales of one layer's projections in the storage format."""
    sizes = stored(step)
    weights = sum(inputs * outputs for inputs, outputs in sizes)
    if step.plain:
        return weights * step.stream
    if step.int8:
        return weights * INT8 + FP32 * sum(outputs for _, outputs in sizes)
    scale = FP32 if step.storage == "NF4" else 1 + FP32 / SCALES_PER_SECOND_SCALE
    return weights / 2 + weights / NF4_BLOCK * scale + len(sizes) * TABLE_BYTES[step.storage]


def unquantised_parameters(step: Step, parameters: int) -> int:
    """Parameters outside these projections; none where an override gives fewer than they have."""
    weights = sum(inputs * outputs for inputs, outputs in stored(step))
    return max(0, parameters - step.shape.layers * weights)


def quantities(step: Step, parameters: int) -> dict[str, float]:
    """`base_parameters`, `unquantised_parameters`, `frozen_base_bytes` of a base of `parameters` parameters."""
    outside = unquantised_parameters(step, parameters)
    return {
        "base_parameters": parameters,
        "unquantised_parameters": outside,
        "frozen_base_bytes": outside * step.stream + step.shape.layers * projection_bytes(step),
    }
