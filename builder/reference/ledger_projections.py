"""Ledger: gate, up and down at work in the forward pass: the most that each holds beyond what was alive before. Units: bytes.

    the frozen layer   plain: casts and output; NF4: the dequantised weight; INT8: quantised input, INT32 and FP16 products
    its adapter        copies of the input, lora_A's output, then base output, lora_B's output, the scaled one and their sum

Source: PEFT 0.21.2 and bitsandbytes 0.50.2 as traced by tests/tracer.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.ledger_choices import BF16, INT8, Step
from builder.reference.ledger_frozen_base import matrices
from builder.reference.ledger_inputs import Copies, kinds
from builder.reference.ledger_saved import weight_cast

INT8_QUANTISING = 5
"""Bytes per input element: FP16 copy, its absolute value, the comparison with the outlier threshold."""
INT8_PRODUCT = 6
"""Bytes per output element: INT32 product and its FP16."""


@dataclass(frozen=True)
class Projection:
    """A projection of the MLP; widths are 0 where it is part of a fused one."""

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
        found[role] = Projection(inputs, outputs, made[kind], name in step.targets and name in here, cast)
    return found


def base_work(step: Step, it: Projection) -> int:
    """The frozen layer at work."""
    tokens, inputs, outputs = step.tokens, it.inputs, it.outputs
    upcast = step.stream > BF16
    if step.plain:
        recast = BF16 if step.stream_casts and it.made.given == step.stream and step.stream > step.projection else 0
        return it.cast + tokens * (recast * inputs + step.projection * outputs)
    if step.nf4:
        multiply = BF16 * (tokens * (upcast * inputs + outputs) + inputs * outputs)
        convert = tokens * (upcast * BF16 * (inputs + outputs) + step.projection * outputs)
        return max(multiply, convert)
    return tokens * max(INT8_QUANTISING * inputs, INT8 * inputs + (INT8_PRODUCT + step.projection) * outputs)


def output_widths(step: Step) -> int:
    """Bytes per output element where most outputs are alive: base, lora_B's and scaled one, or those that are summed."""
    base, branch = step.projection, step.branch
    summed = 3 * base if not step.plain and not step.autocast else base + branch + max(base, branch)
    return max(base + 2 * branch, summed)


def clone(step: Step, it: Projection) -> int:
    """PEFT copies the output of a 4-bit layer."""
    return 2 * step.tokens * it.outputs * step.projection if step.nf4 else 0


def forward(step: Step, it: Projection, saves: bool) -> int:
    """The most that is alive while it runs, what it saves included; `saves` is False in a pass under checkpointing."""
    work = base_work(step, it)
    if not it.adapted:
        return work
    tokens, made = step.tokens, it.made
    inner = tokens * step.rank * step.branch
    mask, cast, kept = (step.mask_bytes, it.cast, made.kept) if saves else (0, 0, 0)
    in_a = cast + tokens * (it.outputs * step.projection + it.inputs * (made.made + mask)) + inner
    in_b = cast + tokens * it.inputs * (made.cast + kept + mask) + (inner if saves else 0) + tokens * it.outputs * output_widths(step)
    return max(work, clone(step, it), in_a, in_b)


def stopped(step: Step, it: Projection) -> int:
    """down when its layer is recomputed: it stops at the last tensor that backward needs, which lora_B would multiply."""
    if not it.adapted:
        return it.cast
    tokens = step.tokens
    in_a = it.cast + tokens * (it.outputs * step.projection + it.inputs * (it.made.made + step.mask_bytes + 0)) + tokens * step.rank * step.branch
    return max(in_a, 0 if step.plain else base_work(step, it), clone(step, it))


def quantities(step: Step) -> dict[str, int]:
    """`<projection>_base_work_bytes`, `_forward_bytes` and `_unsaved_bytes`."""
    return {
        f"{role}_{what}_bytes": value
        for role, it in projections(step).items()
        for what, value in (
            ("base_work", base_work(step, it)),
            ("forward", forward(step, it, True)),
            ("unsaved", forward(step, it, False)),
        )
    }
