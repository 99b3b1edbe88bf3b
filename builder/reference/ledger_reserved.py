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
from builder.reference.ledger_peak import MIB
from builder.reference.ledger_saved import ATTENTION_INPUTS

HIGH_FACTOR = 1.08
"""Of the largest case: the largest reserve that was seen is 1.073 times it."""
PAGE_MIB = 2


def checkpointed(step: Step, mlp: float, norms: float) -> float:
    """What a layer works with under checkpointing."""
    work = mlp + max(norms, step.shape.layers * step.hidden(step.stream) / 4)
    work += 2 * FP32 * step.scores if step.eager else 0
    return work + (0 if step.plain else BF16 * step.shape.hidden_size * step.shape.feed_forward)


def quantities(step: Step, values: dict[str, float], expandable: bool) -> dict[str, float]:
    """`reserved_low_bytes`, `reserved_bytes` (the middle, or with expandable segments the pages), `reserved_high_bytes`, and the terms."""
    shape, block = step.shape, values["vocabulary_fp32_bytes"]
    mlp_targets = bool(step.targets - {*ATTENTION_INPUTS, "o"})
    prepared = not step.plain and step.stream == FP32
    widest = max(shape.q_width, shape.hidden_size, shape.feed_forward if mlp_targets else 0)
    large = step.adapter * step.rank * widest > MIB
    states, peak = values["optimizer_states_bytes"], values["peak_allocated_bytes"]
    start = min(peak, values["start_of_backward_bytes"] + values["workspace_bytes"])
    keeps = step.output_kept and not step.fused_loss and shape.vocabulary > 2 * shape.feed_forward
    kept = block if keeps else 0
    small_pool = 0 if large else values["gradients_bytes"]
    mlp = 3 * BF16 * step.tokens * shape.feed_forward * (1 + prepared + mlp_targets)
    norms = 3 * step.hidden(FP32)
    layer, recomputed = mlp + norms, checkpointed(step, mlp, norms)
    saved = max(0, start - values["held_bytes"] - values["logits_bytes"] - 3 * block)
    share = states / (recomputed + kept / 2) if large else 0
    plain = layer / 2 + min(saved / 20, step.layers_adapted * 16 * MIB)
    if step.output_kept:
        small_vocabulary = mlp_targets and not prepared and 6 * shape.feed_forward >= shape.vocabulary
        plain_broken = block * step.layers_adapted / shape.layers if small_vocabulary else 0
        plain_perhaps = block if layer >= block / 2 else 0
    else:
        plain_broken, plain_perhaps = block * min(1, states / layer) if large else 0, block
    if step.checkpointing:
        work, broken, perhaps = recomputed, block * min(2, max(0, share - 1)), block * min(2, share)
    else:
        work, broken, perhaps = plain, plain_broken, plain_perhaps
    base = start + kept + small_pool + work
    if step.fused_loss:
        low, middle, most = peak, peak + small_pool + work / 2, peak + small_pool + work
    else:
        low, middle, most = max(peak, start + kept), max(peak, base + broken), max(peak, base + max(broken, perhaps))
    pages = ceil(peak / (PAGE_MIB * MIB)) * PAGE_MIB * MIB
    return {
        "start_allocated_bytes": start,
        "large_adapters": int(large),
        "small_pool_bytes": small_pool,
        "kept_block_bytes": kept,
        "mlp_blocks_bytes": mlp,
        "norm_blocks_bytes": norms,
        "checkpointed_work_bytes": recomputed,
        "states_share": share,
        "layer_work_bytes": layer,
        "saved_blocks_bytes": saved,
        "plain_work_bytes": plain,
        "reserved_work_bytes": work,
        "plain_broken_bytes": plain_broken,
        "broken_bytes": broken,
        "plain_perhaps_bytes": plain_perhaps,
        "perhaps_bytes": perhaps,
        "reserved_base_bytes": base,
        "default_low_bytes": low,
        "default_middle_bytes": middle,
        "default_high_bytes": HIGH_FACTOR * most,
        "page_bytes": pages,
        "reserved_low_bytes": pages if expandable else low,
        "reserved_bytes": pages if expandable else middle,
        "reserved_high_bytes": max(pages, HIGH_FACTOR * most) if expandable else HIGH_FACTOR * most,
    }
