"""Ledger: gate, up and down at work in the forward pass: the most that each holds beyond what was alive before. Units: bytes.

    the frozen layer   plain: casts and output; NF4: the dequantised weight; INT8: quantised input, INT32 and FP16 products
    its adapter        copies of the input, lora_A's output, then base output, lora_B's output, the scaled one and their sum

Source: PEFT 0.21.2 and bitsandbytes 0.50.2 as traced by tests/tracer.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.ledger_choices import Step
from builder.reference.ledger_frozen_base import matrices
from builder.reference.ledger_inputs import Copies, kinds
from builder.reference.ledger_saved import weight_cast
from builder.reference.ledger_types import BF16, INT8

INT8_QUANTISING = 5
"""Bytes per input element: FP16 copy, its absolute value, the comparison with the outlier threshold."""
INT8_PRODUCT = 6
"""Bytes per output element: INT32 product and its FP16."""


@dataclass(frozen=True)
class Projection:
    """A projection of the MLP; widths are 0 where it is part of a fused one."""

    role: str
    inputs: int
    outputs: int
    made: Copies
    adapted: bool
    cast: int


def projections(step: Step) -> dict[str, Projection]:
    """`gate` (or the fused gate_up), `up` and `down`."""
    here, made = matrices(step), kinds(step)
    gate = "gate_up" if step.family.fused_gate_up else "gate"
    found = {}
    for role, name, kind in (("gate", gate, "stream"), ("up", "up", "stream"), ("down", "down", "product")):
        inputs, outputs = here.get(name, (step.shape.hidden_size, 0))
        cast = weight_cast(step, name) if name in here else 0
        found[role] = Projection(role, inputs, outputs, made[kind], name in step.targets and name in here, cast)
    return found


def recasts(step: Step, it: Projection) -> bool:
    """Whether autocast turns the FP32 input of a plain layer to BF16: a norm's output, or the product of a GELU in steps."""
    return step.autocast and step.family.gelu_steps if it.role == "down" else step.normed_casts


def plain_work(step: Step, it: Projection) -> int:
    """A BF16 or FP32 layer at work: casts of weight and input, output."""
    recast = BF16 if recasts(step, it) else 0
    return it.cast + step.tokens * (recast * it.inputs + step.projection * it.outputs)


def nf4_work(step: Step, it: Projection) -> int:
    """An NF4 layer at work: it multiplies in BF16 by its dequantised weight."""
    return BF16 * (step.tokens * ((step.normed > BF16) * it.inputs + it.outputs) + it.inputs * it.outputs)


def nf4_output(step: Step, it: Projection) -> int:
    """An NF4 layer once its weight is gone: it gives back the type of its input."""
    upcast = BF16 * (it.inputs + it.outputs) if step.normed > BF16 else 0
    return step.tokens * (upcast + step.projection * it.outputs) if step.nf4 else 0


def int8_work(step: Step, it: Projection) -> int:
    """An INT8 layer at work: it quantises its input, multiplies to INT32, turns that to FP16 and to the type of its input."""
    return step.tokens * max(INT8_QUANTISING * it.inputs, INT8 * it.inputs + (INT8_PRODUCT + step.projection) * it.outputs)


def base_work(step: Step, it: Projection) -> int:
    """The frozen layer at work."""
    if step.plain:
        return plain_work(step, it)
    return nf4_work(step, it) if step.nf4 else int8_work(step, it)


def outputs(step: Step, it: Projection) -> int:
    """Where most outputs are alive: base, lora_B's and the scaled one, or those that are summed."""
    base, branch = step.projection, step.branch
    summed = 3 * base if not step.plain and not step.autocast else base + branch + max(base, branch)
    return step.tokens * it.outputs * max(base + 2 * branch, summed)


def clone(step: Step, it: Projection) -> int:
    """PEFT copies the output of a 4-bit layer."""
    return 2 * step.tokens * it.outputs * step.projection if step.nf4 else 0


def inner(step: Step) -> int:
    """lora_A's output."""
    return step.tokens * step.rank * step.branch


def in_a(step: Step, it: Projection) -> int:
    """In lora_A, what it saves included: base output, every copy of the input, mask."""
    return it.cast + step.tokens * (it.outputs * step.projection + it.inputs * (it.made.made + step.mask_bytes)) + inner(step)


def in_b(step: Step, it: Projection) -> int:
    """In lora_B, what it saves included: the copies that live on, and the outputs."""
    return it.cast + step.tokens * it.inputs * (it.made.cast + it.made.kept + step.mask_bytes) + inner(step) + outputs(step, it)


def forward(step: Step, it: Projection, saves: bool) -> tuple[int, int]:
    """The most that is alive while it runs, what it saves included: with its weight at hand, which a plain layer that saves keeps,
    and without; `saves` is False in a pass under checkpointing.
    """
    work, rest, tokens = base_work(step, it), nf4_output(step, it), step.tokens
    if not it.adapted:
        return work, rest
    if saves:
        adapter = max(in_a(step, it), in_b(step, it))
        return (max(work, adapter), 0) if step.plain else (work, max(rest, clone(step, it), adapter))
    passing_a = tokens * (it.outputs * step.projection + it.inputs * it.made.made) + inner(step)
    return work, max(rest, clone(step, it), passing_a, tokens * it.inputs * it.made.cast + outputs(step, it))


def stopped(step: Step, it: Projection) -> tuple[int, int]:
    """down when its layer is recomputed: it stops at the last tensor that backward needs, which lora_B would multiply."""
    if not it.adapted:
        return it.cast, 0
    if step.plain:
        return in_a(step, it), 0
    return base_work(step, it), max(in_a(step, it), nf4_output(step, it), clone(step, it))


def quantities(step: Step) -> dict[str, int]:
    """Of gate, up and down: each kind of layer at work, the adapter's points, and `_weight_bytes`, `_rest_bytes` and `_unsaved_bytes`."""
    found = {"inner_bytes": inner(step)}
    for role, it in projections(step).items():
        weight, rest = forward(step, it, True)
        found |= {
            f"{role}_plain_work_bytes": plain_work(step, it),
            f"{role}_nf4_work_bytes": nf4_work(step, it),
            f"{role}_nf4_output_bytes": nf4_output(step, it),
            f"{role}_int8_work_bytes": int8_work(step, it),
            f"{role}_base_work_bytes": base_work(step, it),
            f"{role}_copies_bytes": step.tokens * it.inputs * it.made.made,
            f"{role}_outputs_bytes": outputs(step, it),
            f"{role}_clone_bytes": clone(step, it),
            f"{role}_in_a_bytes": in_a(step, it),
            f"{role}_in_b_bytes": in_b(step, it),
            f"{role}_weight_bytes": weight,
            f"{role}_rest_bytes": rest,
            f"{role}_unsaved_bytes": forward(step, it, False)[1],
        }
    return found
