"""Ledger: the forward pass inside a layer: the point at which most is alive. Units: bytes.

`recorded`: the layer saves for backward, as without checkpointing, and when checkpointing recomputes it. `passing`: it saves
nothing, as in the forward pass under checkpointing. Points: rotation, softmax of eager attention, gate, up, the MLP product, down,
the norm after the MLP.

Source: traces (tests/tracer) of transformers' decoder layers.
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_projections import forward, projections, stopped
from builder.reference.ledger_saved import Saved
from builder.reference.ledger_types import BF16, FP32, MASK


def rotation(step: Step) -> int:
    """Queries, keys and values, and three more tensors of the queries' width."""
    q, kv = step.shape.q_width, step.shape.kv_width
    normed = step.rotated if step.qk_norm else step.projection
    turning = FP32 if step.family.rotates_in_fp32 else step.stream
    if not step.family.rotary_tables:
        return step.tokens * (q + 2 * kv) * step.projection
    return step.tokens * (3 * q * turning + (q + kv) * normed + kv * step.projection)


def softmax_inputs(step: Step) -> int:
    """Queries, keys and values at the softmax of eager attention, repeated for grouped heads; with LayerNorm and one projection its
    output, and what is rotated of it.
    """
    q, kv = step.shape.q_width, step.shape.kv_width
    if step.family.layer_norm and step.family.fused_qkv:
        return step.tokens * ((q + 2 * kv) * step.projection + (step.family.rotary_tables > 0) * (q + kv) * step.stream) + fallback_inputs(step)
    both = step.rotated + step.projection
    return step.tokens * (q * step.rotated + kv * both + (q * both if step.eager_expands else 0))


def fallback_inputs(step: Step) -> int:
    """Where SDPA makes the scores: its scaled queries, their FP32 cast, and the causal mask, once as truth and once in the type of
    attention.
    """
    if not step.falls_back:
        return 0
    casts = 1 + (step.attention < FP32)
    return step.tokens * (casts * step.shape.q_width * FP32 + step.sequence * step.attention) + MASK * step.sequence**2


def multiplied(step: Step) -> int:
    """Copies of queries and repeated keys that the scores were multiplied from, where one KV head is not repeated before."""
    return step.tokens * 2 * step.shape.q_width * step.core if step.family.sdpa_scores and step.eager_expands else 0


def softmax_element(step: Step) -> int:
    """Bytes per score: scores (BF16, or FP32 through the mask), their FP32 copy and the softmax; or that, dropped out, and the mask."""
    raw = step.family.sdpa_scores * step.attention if step.eager else 0
    scores = 2 * step.softmax + raw + (BF16 if step.stored < step.softmax and not step.falls_back else 0)
    return max(scores, step.drops * (step.softmax + step.rotated + MASK))


def recorded_element(step: Step) -> int:
    """The same of a layer that saves, which has the cast of the dropped-out softmax as well; and the soft-cap."""
    dropped = step.drops * (step.softmax + step.rotated + MASK + BF16 * step.autocast)
    return max(softmax_element(step), dropped) + step.family.attention_softcap * step.attention


def weights_held(step: Step) -> int:
    """Eager: dropped-out attention weights that a layer holds to its end beside their cast, which is what it saves."""
    return step.scores * step.rotated if step.eager and step.drops and step.rotated != step.attention else 0


def post_norm_work(step: Step) -> int:
    """A norm after the MLP: its input, that in FP32, and two more FP32 tensors; its output, where it is cast late."""
    casts = step.projection < FP32
    late = casts and step.family.late_norm_cast
    return (1 + late) * step.hidden(step.projection) + (2 + casts) * step.hidden(FP32)


def sliding_here(step: Step, saved: Saved) -> int:
    """What a masked sliding layer saves more, where the worst layer is one. Under checkpointing it may be the layer below a top one
    with full attention, whose boundary is freed by then.
    """
    if step.sliding_layers(1):
        return saved.window_extra
    if not step.checkpointing or not step.sliding_layers(step.shape.layers):
        return 0
    return max(0, saved.window_extra - step.hidden(step.stream))


def middle(step: Step) -> int:
    """Hidden states between attention and MLP, where neither a norm nor the MLP itself keeps them."""
    return step.hidden(step.stream) if step.norms_first and not step.norm_shares else 0


def weights(step: Step) -> int:
    """Attention weights of a layer that saves nothing, which it holds to its end."""
    return step.scores * (step.softmax if step.family.sdpa_scores else step.rotated) if step.eager else 0


def weights_before(step: Step) -> int:
    """Those of the layer before, which the model holds where a layer gives them back: until the next one's, or past the final norm."""
    return weights(step) if step.family.sdpa_scores else 0


def activation_input(step: Step) -> int:
    """Input of a GELU in steps beside the FP32 cast that its power saves."""
    return step.tokens * step.shape.feed_forward * step.projection if step.product != step.projection else 0


def held_output(step: Step) -> int:
    """The output of attention, where the layer's code holds it while the MLP runs."""
    return step.hidden(step.attention) if step.family.holds_attention_output else 0


def beside(step: Step, attention_input: int) -> int:
    """What a layer at work that saves has beside its own points; a lone one's input, too. Its input may be saved as `attention_input`."""
    lone = step.hidden(step.stream) if step.layers_adapted == 1 and step.norm_shares else 0
    own_input = step.hidden(step.stored) - (0 if step.norms_first else attention_input)
    return own_input + middle(step) + lone


def recorded(step: Step, saved: Saved) -> dict[str, int]:
    """Points of a layer that saves; 0 where it has no such point."""
    normed, roles = step.hidden(step.normed), projections(step)
    entry = saved.attention_first + (normed - saved.attention_input if step.norms_first else 0)
    side = saved.attention_side + sliding_here(step, saved) + (0 if step.parallel else middle(step)) + held_output(step) + weights_held(step)
    mlp = side + (0 if saved.mlp_input or (step.one_norm and saved.attention_input) else normed)
    product = mlp + saved.gate + saved.up + saved.mlp_tensors + (not step.stops_at_product) * saved.product
    gate, down = forward(step, roles["gate"], True), stopped(step, roles["down"]) if step.stops_early else forward(step, roles["down"], True)
    before_up, up = mlp + saved.gate + 2 * step.family.gated_mlp * saved.product, forward(step, roles["up"], True)
    fused = step.family.fused_gate_up
    stops = step.hidden(FP32) if step.checkpointing else 0
    last = side + saved.gate + saved.up + saved.mlp_tensors + saved.product_saved + saved.down + post_norm_work(step) - stops
    last += 0 if step.norms_first else normed - saved.mlp_input  # the hidden states to which the MLP's output is added
    return {
        "recorded_rotation_bytes": entry + rotation(step),
        "recorded_softmax_bytes": entry + softmax_inputs(step) + multiplied(step) + step.scores * recorded_element(step) if step.scored else 0,
        "recorded_gate_weight_bytes": mlp + gate[0],
        "recorded_gate_rest_bytes": mlp + gate[1],
        "recorded_up_weight_bytes": 0 if fused else before_up + up[0],
        "recorded_up_rest_bytes": 0 if fused else before_up + up[1],
        "recorded_product_bytes": product + activation_input(step),
        "recorded_down_weight_bytes": product + down[0],
        "recorded_down_rest_bytes": product + down[1],
        "recorded_post_norm_bytes": last if step.norm_pairs else 0,
    }


def passing(step: Step, saved: Saved) -> dict[str, int]:
    """Points of a layer that saves nothing; 0 where it has no such point. INT8 layers keep their inputs anyway: those of the
    layer count as saved, down's only from down on, those after attention only from there.
    """
    boundary, roles = step.hidden(step.stream), projections(step)
    fused, gated = step.family.fused_gate_up, step.family.gated_mlp
    not_yet, hidden = (saved.product, 0) if step.int8 else (0, step.hidden(step.normed))
    later = saved.product + step.hidden(step.normed) + step.tokens * step.shape.q_width * step.attention if step.int8 else 0
    before = weights_before(step)
    softmax = before + hidden + softmax_inputs(step) + step.scores * softmax_element(step) - later
    mlp = (0 if step.parallel else boundary) + held_output(step) + hidden + weights(step) + before
    gate, up, down = (forward(step, roles[role], False) for role in ("gate", "up", "down"))
    activation = 2 * (saved.product + step.tokens * step.shape.feed_forward * step.projection) if step.family.gelu_steps else (2 + gated + fused) * saved.product
    before_up, before_down = mlp + gated * saved.product - not_yet, mlp + (1 + 2 * fused - (step.int8 and not gated)) * saved.product
    return {
        "passing_rotation_bytes": before + hidden + rotation(step) - later,
        "passing_softmax_bytes": softmax if step.scored else 0,
        "passing_gate_weight_bytes": mlp + gate[0] - not_yet,
        "passing_gate_rest_bytes": mlp + gate[1] - not_yet,
        "passing_up_weight_bytes": 0 if fused else before_up + up[0],
        "passing_up_rest_bytes": 0 if fused else before_up + up[1],
        "passing_product_bytes": mlp + activation - not_yet,
        "passing_down_weight_bytes": before_down + down[0],
        "passing_down_rest_bytes": before_down + down[1],
        "passing_post_norm_bytes": boundary + weights(step) + post_norm_work(step) if step.norm_pairs else 0,
    }


def quantities(step: Step, saved: Saved, standing: dict[str, float], idle: int) -> dict[str, float]:
    """`forward_bytes`: the layer at work, and over it (`forward_points_standing_bytes`) the layers below it and all that stands;
    `idle` is what an MLP that needs no gradient holds while it runs.
    """
    saving, not_saving = recorded(step, saved), passing(step, saved)
    most, layers = max(saving.values()), standing["saved_layers_bytes"]
    if not step.checkpointing:  # the layer at work is the top one
        layers += beside(step, saved.attention_input) + idle - saved.layer - step.sliding_layers(1) * saved.window_extra
    over = standing["forward_standing_bytes"] + standing["masks_bytes"] + layers
    return {
        **saving,
        **not_saving,
        "rotation_bytes": rotation(step),
        "softmax_inputs_bytes": softmax_inputs(step),
        "softmax_element_bytes": softmax_element(step),
        "post_norm_work_bytes": post_norm_work(step),
        "recorded_bytes": most,
        "passing_bytes": max(not_saving.values()),
        "forward_points_standing_bytes": over,
        "forward_bytes": over + (max(not_saving.values()) if step.checkpointing else most),
    }
