"""Ledger: what the caching allocator reserves, as a band with a middle. Units: bytes.

Blocks of tokens x vocabulary are larger than any that a layer leaves, so each takes a segment of its own, and what a layer works
with stays reserved beside them. A previous output that is kept costs one more FP32 block of that size, because its BF16 logits
sit in one. Without it a further block may be needed or not: nothing in the job tells, and the band is wide there.

Of 463 replayed and measured rows the middle is within 5% in 428, the band holds all; fixed shapes, no INT8 base among them.
Source: replays of traced steps (tests/tracer/allocator.py) and the runs of presets/measured.
"""

from __future__ import annotations

from math import ceil

from builder.reference.ledger_choices import BF16, FP32, Step
from builder.reference.ledger_saved import ATTENTION_INPUTS

MIB = 1 << 20
HIGH_FACTOR = 1.08
"""Of the largest case: the largest reserve that was seen is 1.073 times it."""
PAGE_MIB = 2


def work_of(step: Step, kept: float, saved: float, values: dict[str, float]) -> tuple[float, float, float]:
    """(what a layer works with, FP32 logits blocks certain to break up, blocks that may)."""
    shape, block = step.shape, values["vocabulary_fp32_bytes"]
    mlp_targets = bool(step.targets - {*ATTENTION_INPUTS, "o"})
    prepared = not step.plain and step.stream == FP32
    mlp = 3 * BF16 * step.tokens * shape.feed_forward * (1 + prepared + mlp_targets)
    widest = max(shape.q_width, shape.hidden_size, shape.feed_forward if mlp_targets else 0)
    large = step.adapter * step.rank * widest > MIB
    states, norms = values["optimizer_states_bytes"], 3 * step.hidden(FP32)
    if step.checkpointing:
        work = mlp + max(norms, shape.layers * step.hidden(step.stream) / 4)
        work += 2 * FP32 * step.scores if step.eager else 0
        work += 0 if step.plain else BF16 * shape.hidden_size * shape.feed_forward
        share = states / (work + kept / 2) if large else 0
        return work, block * min(2, max(0, share - 1)), block * min(2, share)
    layer = mlp + norms
    work = layer / 2 + min(saved / 20, step.layers_adapted * 16 * MIB)
    if step.output_kept:
        small = mlp_targets and not prepared and 6 * shape.feed_forward >= shape.vocabulary
        extra = block * step.layers_adapted / shape.layers if small else 0
        return work, extra, block if layer >= block / 2 else 0
    return work, block * min(1, states / layer) if large else 0, block


def quantities(step: Step, values: dict[str, float], expandable: bool) -> dict[str, float]:
    """`reserved_low_bytes`, `reserved_bytes` (the middle, or with expandable segments the pages) and `reserved_high_bytes`."""
    shape, block = step.shape, values["vocabulary_fp32_bytes"]
    peak = values["peak_allocated_bytes"]
    start = min(peak, values["start_of_backward_bytes"] + values["workspace_bytes"])
    keeps = step.output_kept and not step.fused_loss and shape.vocabulary > 2 * shape.feed_forward
    kept = block if keeps else 0
    mlp_targets = bool(step.targets - {*ATTENTION_INPUTS, "o"})
    widest = max(shape.q_width, shape.hidden_size, shape.feed_forward if mlp_targets else 0)
    small_pool = 0 if step.adapter * step.rank * widest > MIB else values["gradients_bytes"]
    saved = max(0, start - values["held_bytes"] - values["logits_bytes"] - 3 * block)
    work, extra, maybe = work_of(step, kept, saved, values)
    if step.fused_loss:
        low, middle, most = peak, peak + small_pool + work / 2, peak + small_pool + work
    else:
        base = start + kept + small_pool + work
        low, middle, most = max(peak, start + kept), max(peak, base + extra), max(peak, base + max(maybe, extra))
    pages = ceil(peak / (PAGE_MIB * MIB)) * PAGE_MIB * MIB
    return {
        "reserved_low_bytes": pages if expandable else low,
        "reserved_bytes": pages if expandable else middle,
        "reserved_high_bytes": max(pages, HIGH_FACTOR * most) if expandable else HIGH_FACTOR * most,
    }
