"""Ledger: the forward pass inside a layer: the point at which most is alive. Units: bytes.

`recorded`: the layer saves for backward, as without checkpointing, and when checkpointing recomputes it. `passing`: it saves
nothing, as in the forward pass under checkpointing. Points: rotation, softmax of eager attention, gate, up, the MLP product, down,
the norm after the MLP.

Source: traces (tests/tracer) of transformers' decoder layers.
"""

from __future__ import annotations

from builder.reference.ledger_choices import BF16, FP32, Step
from builder.reference.ledger_projections import forward, projections, stopped
from builder.reference.ledger_saved import Saved


def rotation(step: Step) -> int:
    """Queries, keys and values, and three more tensors of the queries' width."""
    q, kv = step.shape.q_width, step.shape.kv_width
    normed = step.stream if step.qk_norm else step.projection
    return step.tokens * (3 * q * step.stream + (q + kv) * normed + kv * step.projection)


def softmax_inputs(step: Step) -> int:
    """Queries, keys and values at the softmax of eager attention, repeated for grouped heads."""
    q, kv = step.shape.q_width, step.shape.kv_width
    both = step.stream + step.projection
    return step.tokens * (q * step.stream + kv * both + (q * both if step.eager_expands else 0))


def softmax_element(step: Step) -> int:
    """Bytes per score: scores (BF16, or FP32 through the mask), their FP32 copy and the softmax."""
    return 2 * FP32 + (BF16 if step.stream == BF16 else 0)


def post_norm_work(step: Step) -> int:
    """A norm after the MLP: its input, that in FP32, and two more FP32 tensors."""
    copies = 3 if step.projection < FP32 else 2
    return step.hidden(step.projection) + copies * step.hidden(FP32)


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
    return step.hidden(step.stream) if step.norms_first and step.stream == BF16 else 0


def beside(step: Step, attention_input: int, shared_input: int) -> int:
    """What a layer at work that saves has beside its own points: its input, unless that is saved already, as `attention_input` or,
    except in a lone layer, as the `shared_input` of its first norm.
    """
    lone = shared_input if step.layers_adapted == 1 else 0
    own_input = step.hidden(step.stream) - (0 if step.norms_first else attention_input)
    return own_input + middle(step) + lone


def recorded(step: Step, saved: Saved) -> dict[str, int]:
    """Points of a layer that saves; 0 where it has no such point."""
    boundary, roles = step.hidden(step.stream), projections(step)
    entry = saved.attention_first + (boundary - saved.attention_input if step.norms_first else 0)
    side = saved.attention_side + sliding_here(step, saved) + middle(step)
    mlp = side + boundary - saved.mlp_input
    early = step.checkpointing and not step.norm_pairs
    product = mlp + saved.gate + saved.up + (3 + (not step.stops_at_product)) * saved.product
    gate, down = forward(step, roles["gate"], True), stopped(step, roles["down"]) if early else forward(step, roles["down"], True)
    element = softmax_element(step) + step.family.attention_softcap * step.attention
    before_up, up = mlp + saved.gate + 2 * saved.product, forward(step, roles["up"], True)
    fused = step.family.fused_gate_up
    stops = step.hidden(FP32) if step.checkpointing else 0
    last = side + saved.gate + saved.up + saved.mlp_tensors + saved.product_saved + saved.down + post_norm_work(step) - stops
    last += 0 if step.norms_first else boundary - saved.mlp_input  # the hidden states to which the MLP's output is added
    return {
        "recorded_rotation_bytes": entry + rotation(step),
        "recorded_softmax_bytes": entry + softmax_inputs(step) + step.scores * element if step.eager else 0,
        "recorded_gate_weight_bytes": mlp + gate[0],
        "recorded_gate_rest_bytes": mlp + gate[1],
        "recorded_up_weight_bytes": 0 if fused else before_up + up[0],
        "recorded_up_rest_bytes": 0 if fused else before_up + up[1],
        "recorded_product_bytes": product,
        "recorded_down_weight_bytes": product + down[0],
        "recorded_down_rest_bytes": product + down[1],
        "recorded_post_norm_bytes": last if step.norm_pairs else 0,
    }


def passing(step: Step, saved: Saved) -> dict[str, int]:
    """Points of a layer that saves nothing; 0 where it has no such point. INT8 layers keep their inputs anyway: those of the
    layer count as saved, down's only from down on, those after attention only from there.
    """
    boundary, roles = step.hidden(step.stream), projections(step)
    fused = step.family.fused_gate_up
    not_yet, hidden = (saved.product, 0) if step.int8 else (0, boundary)
    later = saved.product + boundary + step.tokens * step.shape.q_width * step.attention if step.int8 else 0
    softmax = hidden + softmax_inputs(step) + step.scores * softmax_element(step) - later
    weights = step.scores * step.stream if step.eager else 0  # the layer holds them to its end
    mlp = boundary + hidden + weights
    gate, up, down = (forward(step, roles[role], False) for role in ("gate", "up", "down"))
    before_up, before_down = mlp + saved.product - not_yet, mlp + (1 + 2 * fused) * saved.product
    return {
        "passing_rotation_bytes": hidden + rotation(step) - later,
        "passing_softmax_bytes": softmax if step.eager else 0,
        "passing_gate_weight_bytes": mlp + gate[0] - not_yet,
        "passing_gate_rest_bytes": mlp + gate[1] - not_yet,
        "passing_up_weight_bytes": 0 if fused else before_up + up[0],
        "passing_up_rest_bytes": 0 if fused else before_up + up[1],
        "passing_product_bytes": mlp + (3 + fused) * saved.product - not_yet,
        "passing_down_weight_bytes": before_down + down[0],
        "passing_down_rest_bytes": before_down + down[1],
        "passing_post_norm_bytes": boundary + weights + post_norm_work(step) if step.norm_pairs else 0,
    }


def quantities(step: Step, saved: Saved, standing: dict[str, float]) -> dict[str, float]:
    """`forward_bytes`: the layer at work, and over it (`forward_points_standing_bytes`) the layers below it and all that stands."""
    saving, not_saving = recorded(step, saved), passing(step, saved)
    most, layers = max(saving.values()), standing["saved_layers_bytes"]
    if not step.checkpointing:  # the layer at work is the top one
        layers += beside(step, saved.attention_input, saved.shared_input) - saved.layer - step.sliding_layers(1) * saved.window_extra
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
