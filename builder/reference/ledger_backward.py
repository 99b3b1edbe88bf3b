"""Ledger: inside a layer's backward, at the worst layer, and the optimizer step. Units: bytes.

Points, in the order of backward: the norm after the MLP, down, the MLP product, up (or the fused gate and up), the norm before
the MLP, the softmax of eager attention; under checkpointing also the recomputation. The top layer is the worst, unless the
gradients of adapters grow faster from layer to layer than activations are freed.

Source: PyTorch 2.13.0 autograd as traced by tests/tracer.
"""

from __future__ import annotations

from builder.reference.ledger_choices import BF16, FP32, Step
from builder.reference.ledger_inputs import kinds
from builder.reference.ledger_projections import Projection, projections
from builder.reference.ledger_saved import ATTENTION_INPUTS, MLP_INPUTS, Saved


def backward(step: Step, it: Projection, shared_input: int) -> int:
    """The most that a projection's backward holds beyond what is alive as it begins; `shared_input` is saved input that it frees."""
    tokens, inputs, outputs, made = step.tokens, it.inputs, it.outputs, it.made
    inner = tokens * step.rank * step.branch
    released = tokens * inputs * made.own + inner
    mask = tokens * inputs * step.mask_bytes
    points = [0]
    ready = 0
    if it.adapted:
        points.append(tokens * outputs * step.branch * (1 if step.branch == step.projection else 2) + inner)
        points.append(tokens * inputs * made.multiplied + inner)
        if made.recast:
            points.append(tokens * inputs * (made.recast + made.type) - released)
        points.append(2 * tokens * inputs * made.dropped - released)
        if made.cast:
            points.append(tokens * inputs * (made.cast + made.given) - mask - released)
        ready = tokens * inputs * made.given - mask - released - shared_input
    points.append(ready + base_backward(step, it))
    if it.adapted:
        points.append(ready + 2 * tokens * inputs * made.given - tokens * outputs * step.projection)
    else:
        points.append(ready)
    return max(points)


def base_backward(step: Step, it: Projection) -> int:
    """The frozen layer: gradient of its input, casts, the dequantised weight."""
    tokens, inputs, outputs, given = step.tokens, it.inputs, it.outputs, it.made.given
    upcast = step.stream > BF16
    if step.plain:
        back = FP32 if step.stream_casts and given == step.stream and step.stream > step.projection else 0
        return tokens * inputs * ((BF16 if step.autocast else given) + back)
    if step.nf4:
        multiply = BF16 * (tokens * (upcast * outputs + inputs) + inputs * outputs)
        return max(multiply, tokens * inputs * (BF16 + upcast * FP32))
    return (inputs * outputs + tokens * inputs) * given


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


def inside_top(step: Step, saved: Saved, standing: float, casts: int, casts_layer: int, most: int) -> int:
    """The worst point of the top layer; `standing` is alive through backward, `most` of a layer while it is recomputed."""
    roles = projections(step)
    fp32_boundary = step.hidden(FP32) if step.stream == FP32 else 0
    alive = standing + casts
    if step.checkpointing:
        slides = step.sliding_layers(step.shape.layers) > 0
        alive = standing + saved.layer + slides * saved.window_extra + casts_layer - fp32_boundary - int8_recomputed(step, saved)
    own_gradient = step.hidden(step.projection) if step.norm_pairs or step.projection != step.stream else 0
    shared = 0 if step.int8 else saved.product_saved
    early = step.checkpointing and not step.norm_pairs and not step.plain and "down" not in step.targets
    # Where down needs nothing saved, it runs before the layer is recomputed.
    in_down = standing if early else alive - saved.post_norm
    points = [in_down + own_gradient + backward(step, roles["down"], shared)]
    if step.norm_pairs:
        points.append(alive + 5 * step.hidden(FP32))
    kept_product = step.int8 and not (step.checkpointing and "down" in step.targets and roles["down"].made.direct)
    after_down = alive - saved.post_norm - saved.down - (0 if kept_product else saved.product_saved)
    points.append(after_down + 3 * saved.product)
    if step.family.fused_gate_up:
        points.append(after_down - saved.product + backward(step, roles["gate"], 0))
    else:
        points.append(after_down + backward(step, roles["up"], 0))
    after_mlp = after_down - saved.mlp_tensors - saved.gate - saved.up - (0 if step.int8 else saved.mlp_input)
    points.append(after_mlp + 5 * step.hidden(FP32))
    if step.eager:
        freed = 0 if step.all_fp32 else step.attention
        kept = saved.context_copy if step.int8 and not step.checkpointing else 0
        values = (0 if step.grouped else step.shape.q_width - saved.values_width) * step.tokens * step.attention
        points.append(after_mlp - saved.norm - saved.post_norm - saved.o + kept + values + step.scores * (2 * FP32 - freed))
    if step.checkpointing:
        points.append(standing + most + casts_layer + early_gradient(step, saved, own_gradient) - fp32_boundary)
    return max(points)


def early_gradient(step: Step, saved: Saved, own_gradient: int) -> int:
    """What backward makes before it needs a saved tensor, so before recomputation begins."""
    if step.norm_pairs:
        return step.hidden(FP32) if step.projection < FP32 else 0
    if "down" in step.targets:
        return own_gradient + step.hidden(step.branch)
    return own_gradient + (0 if step.plain else saved.product)


def lower_change(step: Step, saved: Saved, gradients_layer: float, casts_layer: int) -> float:
    """From the top layer to the shallowest: gradients made, less what was freed on the way."""
    made = (step.layers_adapted - 1) * gradients_layer
    if step.checkpointing:
        return made - (step.shape.layers - 1) * step.hidden(step.stream)
    return made - (step.layers_adapted - 1) * (saved.layer + casts_layer)


def quantities(step: Step, saved: Saved, values: dict[str, float]) -> dict[str, float]:
    """`inside_top_bytes`, `lower_change_bytes`, `inside_layer_bytes`, `optimizer_step_bytes`; `values` are those before."""
    logits = 0 if step.fused_loss else values["logits_bytes"]
    casts, casts_layer = values["adapter_casts_bytes"], values["adapter_casts_layer_bytes"]
    standing = (
        values["held_bytes"] + values["once_bytes"] + values["masks_kept_bytes"] + step.hidden(step.stream) + logits
        + values["saved_layers_bytes"]
    )
    top = inside_top(step, saved, standing, casts, casts_layer, values["recorded_bytes"])
    change = lower_change(step, saved, values["gradients_layer_bytes"], casts_layer)
    return {
        "backward_standing_bytes": standing,
        "inside_top_bytes": top,
        "lower_change_bytes": change,
        "inside_layer_bytes": top + max(0, change),
        "optimizer_step_bytes": (
            values["held_bytes"] + values["gradients_bytes"] + values["step_temporary_bytes"] + values["output_bytes"]
            + values["token_ids_bytes"]
        ),
    }
