"""Ledger: inside a layer's backward, at the worst layer, and the optimizer step. Units: bytes.

Points, in the order of backward: the norm after the MLP, down, the MLP product, up (or the fused gate and up), the norm before
the MLP, the softmax of eager attention; under checkpointing also the recomputation. The top layer is the worst, unless the
gradients of adapters grow faster from layer to layer than activations are freed.

Source: PyTorch 2.13.0 autograd as traced by tests/tracer.
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_forward import activation_input, sliding_here
from builder.reference.ledger_inputs import kinds
from builder.reference.ledger_loss import norm_backward
from builder.reference.ledger_projections import Projection, inner, projections, recasts
from builder.reference.ledger_saved import ATTENTION_INPUTS, MLP_INPUTS, Saved
from builder.reference.ledger_types import BF16, FP32, MASK

NO_POINTS = ("top_alive_bytes", "softmax_values_bytes", "recomputation_standing_bytes")
"""What `points` gives beside points."""


def parts(step: Step, it: Projection, shared_input: int) -> dict[str, int]:
    """A projection in backward: `b` lora_B and lora_A, `a` casts and dropout, `input_gradient` what the adapter leaves, less what
    it frees, `base` the frozen layer. `shared_input` is saved input that the adapter frees.
    """
    tokens, inputs, outputs, made = step.tokens, it.inputs, it.outputs, it.made
    released = tokens * inputs * made.own + inner(step)
    copies = 1 if step.branch == step.projection else 2
    recast = made.recast + made.type if made.recast else 0
    cast = made.cast + made.given - step.mask_bytes if made.cast else 0
    left = tokens * inputs * (made.given - step.mask_bytes) - released - shared_input
    return {
        "released": released,
        "b_backward": max(tokens * outputs * step.branch * copies, tokens * inputs * made.multiplied) + inner(step),
        "a_backward": tokens * inputs * max(recast, 2 * made.dropped, cast) - released,
        "input_gradient": left if it.adapted else 0,
        "base_backward": base_backward(step, it),
    }


def backward(step: Step, it: Projection, shared_input: int) -> tuple[int, int]:
    """The most that a projection's backward holds beyond what is alive as it begins, with its weight at hand and without."""
    part = parts(step, it, shared_input)
    rest = [0, part["input_gradient"] + nf4_gradient(step, it) if step.nf4 else 0]
    if it.adapted:
        freed = 0 if keeps_gradient(step, it) else it.outputs * step.projection
        summed = step.tokens * (2 * it.inputs * it.made.given - freed)
        rest += [part["b_backward"], part["a_backward"], part["input_gradient"] + summed]
    return part["input_gradient"] + part["base_backward"], max(rest)


def of_stream(step: Step, it: Projection) -> bool:
    """Whether the gradient of its output is the residual stream's, which stays."""
    return it.role == "down" and not step.drops


def keeps_gradient(step: Step, it: Projection) -> bool:
    """Whether the gradient of its output outlives it: without a gate, where that is the stream's or attention waits for it."""
    return it.role == "down" and not step.family.gated_mlp and (step.parallel or own_gradient(step) == 0)


def nf4_backward(step: Step, it: Projection) -> int:
    """An NF4 layer in backward: the dequantised weight, gradients in BF16.

    An FP32 gradient of the output is freed once it is cast, except down's, which is the residual stream's.
    """
    upcast = BF16 * step.tokens * it.outputs if step.normed > BF16 else 0
    return BF16 * (it.inputs * it.outputs + step.tokens * it.inputs) + (upcast if of_stream(step, it) else -upcast)


def nf4_gradient(step: Step, it: Projection) -> int:
    """An NF4 layer in backward once its weight is gone: the gradient of its input in BF16, and in FP32 where that is its type."""
    upcast = step.normed > BF16
    given = step.tokens * it.inputs * (BF16 + upcast * FP32)
    freed = upcast * step.tokens * it.outputs
    return given if of_stream(step, it) else max(BF16 * freed, given - FP32 * freed)


def base_backward(step: Step, it: Projection) -> int:
    """The frozen layer: gradient of its input, casts, the dequantised weight."""
    tokens, inputs, outputs, given = step.tokens, it.inputs, it.outputs, it.made.given
    if step.plain:
        back = FP32 if recasts(step, it) else 0
        return tokens * inputs * ((BF16 if step.autocast else given) + back)
    return nf4_backward(step, it) if step.nf4 else (inputs * outputs + tokens * inputs) * given


def int8_recomputed(step: Step, saved: Saved) -> int:
    """Inputs that only INT8 layers keep of a recomputed layer: gone as soon as it is recomputed."""
    if not (step.int8 and step.checkpointing):
        return 0
    made = kinds(step)
    gone = 0
    for names, kind, size in (
        (ATTENTION_INPUTS, "stream", saved.attention_input),
        (MLP_INPUTS, "stream", saved.mlp_input),
        (("down",), "product", saved.product_saved),
        (("o",), "context", saved.context_copy),
    ):
        if not (made[kind].direct and step.targets & set(names)):
            gone += size
    return gone


def points(step: Step, saved: Saved, standing: float, casts: int, casts_layer: int) -> dict[str, float]:
    """Points of the top layer, 0 where it has none; `standing` is alive through backward."""
    roles, runs = projections(step), not step.mlp_idle
    shared_boundary = step.hidden(step.stream) if step.norm_shares else 0
    alive = standing + casts
    if step.checkpointing:
        alive = standing + saved.layer + sliding_here(step, saved) + casts_layer - shared_boundary - int8_recomputed(step, saved)
    # Where down needs nothing saved, it runs before the layer is recomputed.
    in_down = (standing if step.stops_at_product else alive - saved.post_norm - saved.residual_mask) + own_gradient(step)
    kept_product = step.int8 and not (step.checkpointing and "down" in step.targets and roles["down"].made.direct)
    after_down = alive + waiting_gradient(step) - saved.post_norm - saved.residual_mask - saved.down - (0 if kept_product else saved.product_saved)
    gate, up, down = (backward(step, roles[role], shared) for role, shared in (("gate", 0), ("up", 0), ("down", shared_product(step, saved))))
    in_up, freed_product = (gate, saved.product) if step.family.fused_gate_up else (up, 0)
    if step.family.gelu_steps:
        freed_product = saved.mlp_tensors - step.tokens * step.shape.feed_forward * step.projection
    after_mlp = after_down - saved.mlp_tensors - saved.gate - saved.up - (0 if step.int8 else saved.mlp_input)
    freed = step.core * step.dropped_apart + MASK * step.drops
    kept = saved.context_copy if step.int8 and not step.checkpointing else 0
    values = (0 if step.eager_expands else step.shape.q_width - saved.values_width) * step.tokens * step.core
    softmax = after_mlp - saved.second_norm - saved.post_norm - saved.residual_mask - saved.o + kept + values + step.scores * (2 * step.softmax - freed)
    recomputing = standing + casts_layer + early_gradient(step, saved) - shared_boundary
    return {
        "top_alive_bytes": alive,
        "backward_post_norm_bytes": alive + norm_backward(step) if step.norm_pairs else 0,
        "backward_down_weight_bytes": runs * (in_down + down[0]),
        "backward_down_rest_bytes": runs * (in_down + down[1]),
        "backward_product_bytes": runs * (after_down + activation_backward(step, saved)),
        "backward_up_weight_bytes": runs * (after_down + in_up[0] - freed_product),
        "backward_up_rest_bytes": runs * (after_down + in_up[1] - freed_product),
        "backward_norm_bytes": after_mlp + norm_backward(step),
        "softmax_values_bytes": values,
        "backward_softmax_bytes": softmax if step.scored else 0,
        "recomputation_standing_bytes": recomputing if step.checkpointing else 0,
    }


def activation_backward(step: Step, saved: Saved) -> int:
    """Gradients at the MLP's activation: of the product and of what it was made of."""
    if step.family.gelu_steps:
        cast = 0 if step.checkpointing else activation_input(step)
        return 3 * saved.product + cast
    return (2 + step.family.gated_mlp) * saved.product


def shared_product(step: Step, saved: Saved) -> int:
    """The MLP product that down's adapter frees, which INT8 layers keep."""
    return 0 if step.int8 else saved.product_saved


def own_gradient(step: Step) -> int:
    """The gradient of down's output, where it is not the residual stream's."""
    if step.parallel:
        return waiting_gradient(step)
    scaled = step.norm_pairs or step.drops or step.family.scales_residual
    return step.hidden(step.projection) if scaled or step.projection != step.stream else 0


def waiting_gradient(step: Step) -> int:
    """The gradient of a parallel layer's attention output in its own type, which waits until the MLP is done."""
    return step.hidden(step.attention) if step.parallel and step.attention != step.stream else 0


def early_gradient(step: Step, saved: Saved) -> int:
    """What backward makes before it needs a saved tensor, so before recomputation begins."""
    if step.norm_pairs:
        return step.hidden(FP32) if step.projection < FP32 else 0
    if step.drops:
        return step.hidden(step.projection) if step.projection != step.stream else 0
    if "down" in step.targets:
        copies = 2 if step.plain and step.branch != step.projection else 1
        return own_gradient(step) + copies * step.hidden(step.branch)
    if not step.plain and step.family.scales_residual:  # a product's gradient, gone once down has used it
        return saved.product
    return own_gradient(step) + (0 if step.plain else saved.product)


def lower_change(step: Step, saved: Saved, gradients_layer: float, casts_layer: int) -> float:
    """From the top layer to the shallowest: gradients made, less what was freed on the way."""
    freed = step.hidden(step.stream) if step.checkpointing else saved.layer + casts_layer
    return (step.layers_adapted - 1) * (gradients_layer - freed)


def quantities(step: Step, saved: Saved, values: dict[str, float]) -> dict[str, float]:
    """`inside_top_bytes`, `lower_change_bytes`, `inside_layer_bytes`, `optimizer_step_bytes`; `values` are those before."""
    logits = 0 if step.fused_loss else values["logits_bytes"]
    casts, casts_layer = values["adapter_casts_bytes"], values["adapter_casts_layer_bytes"]
    standing = (
        values["held_bytes"] + values["once_bytes"] + values["masks_kept_bytes"] + step.hidden(step.stream) + logits
        + values["saved_layers_bytes"]
    )
    found = points(step, saved, standing, casts, casts_layer)
    recomputation = found["recomputation_standing_bytes"] + step.checkpointing * values["recorded_bytes"]
    top = max(recomputation, *(value for name, value in found.items() if name not in NO_POINTS))
    change = lower_change(step, saved, values["gradients_layer_bytes"], casts_layer)
    for role, it in projections(step).items():
        shared = shared_product(step, saved) if role == "down" else 0
        found |= {f"{role}_{name}_bytes": value for name, value in parts(step, it, shared).items()}
        found[f"{role}_backward_rest_bytes"] = backward(step, it, shared)[1]
        found |= {f"{role}_nf4_backward_bytes": nf4_backward(step, it), f"{role}_nf4_gradient_bytes": nf4_gradient(step, it)}
    return {
        **found,
        "int8_recomputed_bytes": int8_recomputed(step, saved),
        "early_gradient_bytes": early_gradient(step, saved),
        "backward_standing_bytes": standing,
        "inside_top_bytes": top,
        "lower_change_bytes": change,
        "inside_layer_bytes": top + max(0, change),
        "optimizer_step_bytes": (
            values["held_bytes"] + values["gradients_bytes"] + values["step_temporary_bytes"] + values["output_bytes"]
            + values["token_ids_bytes"]
        ),
    }
