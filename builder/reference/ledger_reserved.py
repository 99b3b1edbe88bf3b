"""Ledger: what the caching allocator reserves, as a band with a middle. Units: bytes.

Blocks of tokens x vocabulary are larger than any that a layer leaves, so each takes a segment of its own, and what a layer works
with stays reserved beside them. A previous output that is kept costs one more FP32 block of that size, because its BF16 logits
sit in one. Without it a further block may be needed or not: nothing in the job tells, and the band is wide there.

Of 256 replayed and measured rows without INT8 the middle is within 5% in 231, the band holds 251. Every term is a straight line in the
batch, and nothing depends on the card but its workspaces, so that the largest batch on every card is solved from one set of lines.
Source: replays of traced steps (tests/tracer/allocator.py) and the runs of presets/measured.
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_peak import MIB
from builder.reference.ledger_saved import ATTENTION_INPUTS
from builder.reference.ledger_types import BF16, FP32

HIGH_FACTOR = 1.08
"""Of the largest case: the largest reserve that was seen is 1.073 times it."""


def boundaries(step: Step) -> float:
    """A quarter of the boundaries of all layers."""
    return step.shape.layers * step.hidden(step.stream) / 4


def checkpointed(step: Step, mlp: float, norms: float) -> float:
    """What a layer works with under checkpointing."""
    work = mlp + max(norms, boundaries(step))
    work += 2 * FP32 * step.scores if step.scored else 0
    return work + (0 if step.plain else BF16 * step.shape.hidden_size * step.shape.feed_forward)


def quantities(step: Step, values: dict[str, float]) -> dict[str, float]:
    """`default_low_bytes`, `default_reserve_bytes` (the middle, without the workspaces), `default_high_bytes`, and the terms."""
    shape, block = step.shape, values["vocabulary_fp32_bytes"]
    mlp_targets = bool(step.targets - {*ATTENTION_INPUTS, "o"})
    prepared = not step.plain and step.stream == FP32
    widest = max(shape.q_width, shape.hidden_size, shape.feed_forward if mlp_targets else 0)
    large = step.adapter * step.rank * widest > MIB
    states, peak, start = values["optimizer_states_bytes"], values["traced_peak_bytes"], values["start_of_backward_bytes"]
    keeps = step.output_kept and not step.fused_loss and shape.vocabulary > 2 * shape.feed_forward
    kept = block if keeps else 0
    small_pool = 0 if large else values["gradients_bytes"]
    mlp = 3 * BF16 * step.tokens * shape.feed_forward * (1 + prepared + mlp_targets)
    norms = 3 * step.hidden(FP32)
    layer, recomputed = mlp + norms, checkpointed(step, mlp, norms)
    saved = start - values["held_bytes"] - (0 if step.fused_loss else values["logits_bytes"] + 3 * block)
    room = mlp + max(norms, boundaries(step)) + kept / 2
    share = states / room if large else 0
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
        beside = recomputed / 2 if step.checkpointing else layer
        low, middle, most = peak, peak + small_pool + beside, peak + small_pool + max(beside, work)
    else:
        low, middle, most = max(peak, start + kept), max(peak, base + broken), max(peak, base + max(broken, perhaps))
    workspace = values["workspace_bytes"]
    return {
        "large_adapters": int(large),
        "small_pool_bytes": small_pool,
        "kept_block_bytes": kept,
        "mlp_blocks_bytes": mlp,
        "norm_blocks_bytes": norms,
        "checkpointed_work_bytes": recomputed,
        "layer_work_bytes": layer,
        "saved_blocks_bytes": saved,
        "reserved_work_bytes": work,
        "perhaps_bytes": perhaps,
        "default_reserve_bytes": middle,
        "default_low_bytes": low + workspace,
        "default_high_bytes": HIGH_FACTOR * (most + workspace),
    }
