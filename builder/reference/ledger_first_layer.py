"""Ledger: what the shallowest layer with adapters does not save, bytes.

A tensor is saved only where a gradient flows through it, and in that layer none does before the first adapter: not through the
first norm, nor a projection without an adapter, nor all of attention where only later projections have one. Under
checkpointing the embedding output is made to need a gradient, so every layer is like every other.

Source: PyTorch autograd; transformers gradient_checkpointing_enable; traces (tests/tracer).
"""

from __future__ import annotations

from builder.reference.ledger_choices import Step
from builder.reference.ledger_frozen_base import matrices
from builder.reference.ledger_inputs import kinds
from builder.reference.ledger_saved import ATTENTION_INPUTS, MLP_INPUTS, Saved, weight_cast
from builder.reference.ledger_types import FP32, MASK


def masks(step: Step, projections: tuple[str, ...]) -> int:
    """Dropout masks of these projections: saved only where the input needs a gradient."""
    here = matrices(step)
    return sum(step.tokens * here[name][0] * step.mask_bytes for name in projections if name in here and name in step.targets)


def before_attention(step: Step, saved: Saved) -> int:
    """The first norm, weight casts and masks of q, k, v, an input that only INT8 layers would keep."""
    bytes_ = saved.norm + saved.attention_weight_casts + masks(step, ATTENTION_INPUTS)
    if step.int8 and not (kinds(step)["stream"].direct and step.targets & set(ATTENTION_INPUTS)):
        bytes_ += saved.attention_input
    return bytes_


def norms_of_q_and_k(step: Step) -> int:
    """Those whose projection has no adapter."""
    shape = step.shape
    bytes_ = 0
    if step.qk_norm:
        for name, width, roots in (("q", shape.q_width, step.roots[0]), ("k", shape.kv_width, step.roots[1])):
            if not step.targets & {name, "qkv"}:
                bytes_ += step.tokens * FP32 * (width + roots)
    return bytes_


def queries(step: Step) -> int:
    """Queries of eager attention that multiply keys without a gradient."""
    reached = step.targets & set(ATTENTION_INPUTS)
    if not step.eager or not reached or step.targets & {"k", "qkv"}:
        return 0
    return step.tokens * step.shape.q_width * step.attention


def scores(step: Step) -> int:
    """Eager: the softmax where neither q nor k has an adapter, its cast where v has none."""
    if not step.eager or not step.targets & set(ATTENTION_INPUTS):
        return 0
    bytes_ = 0
    if not step.targets & {"q", "k", "qkv"}:
        bytes_ += step.softmax * step.dropped_apart + step.family.attention_softcap * step.attention + MASK * step.drops
    if not step.targets & {"v", "qkv"} and step.dropped_apart:
        bytes_ += step.attention
    return step.scores * bytes_


def keys_and_values(step: Step, saved: Saved) -> int:
    """Eager: keys where q has no adapter, values where neither q nor k has, unless they are the KV cache itself."""
    if not step.eager or not step.targets & set(ATTENTION_INPUTS):
        return 0
    shape, width = step.shape, 0
    if not step.targets & {"q", "qkv"} and (not step.cache or step.rotated_casts or step.eager_expands):
        width += shape.q_width if step.eager_expands else shape.kv_width
    if not step.targets & {"q", "k", "qkv"} and (not step.cache or step.values_cast or step.eager_expands):
        width += shape.q_width if step.eager_expands else saved.values_width
    return step.tokens * step.attention * width


def attention(step: Step, saved: Saved) -> int:
    """All of attention and o's part, where q, k and v have no adapter."""
    if step.targets & set(ATTENTION_INPUTS):
        return 0
    slides = step.sliding_layers(step.layers_adapted) - step.sliding_layers(step.layers_adapted - 1)
    direct = kinds(step)["context"].direct and "o" in step.targets
    apart = saved.cache - saved.cache_copies if step.window_masked and step.grouped and step.shape.kv_heads > 1 else 0
    bytes_ = saved.attention_core - saved.cache_copies + saved.o_weight_cast + masks(step, ("o",))
    bytes_ += slides * (saved.window_extra - apart)  # a cache apart from the repeated keys and values stays
    if not direct:
        return bytes_ + saved.context_copy
    if step.copies_context:
        return bytes_
    return bytes_ - step.tokens * step.shape.q_width * step.attention


def mlp(step: Step, saved: Saved) -> int:
    """The norms and what gate and up save, where nothing in attention has an adapter, or the MLP reads the layer's input."""
    if not step.parallel and step.targets & {*ATTENTION_INPUTS, "o"}:
        return 0
    casts = sum(weight_cast(step, name) for name in matrices(step) if name in MLP_INPUTS)
    bytes_ = saved.post_norm + saved.residual_mask + saved.second_norm + casts + masks(step, MLP_INPUTS)
    if step.int8 and not (kinds(step)["stream"].direct and step.targets & set(MLP_INPUTS)):
        bytes_ += saved.mlp_input
    return bytes_ + one_of_two(step) * saved.product


def one_of_two(step: Step) -> int:
    """Tensors of a gated MLP that only the gradient of the other half would need: where up alone has an adapter the outputs of gate
    and up, where gate alone has one that of the activation.
    """
    if not step.family.gated_mlp or step.family.fused_gate_up:
        return 0
    return {frozenset({"up"}): 2, frozenset({"gate"}): 1}.get(step.targets & {"gate", "up"}, 0)


def product(step: Step, saved: Saved) -> int:
    """The tensors of the MLP, where of what leads to it only down has an adapter."""
    before = () if step.parallel else (*ATTENTION_INPUTS, "o")
    if step.targets & {*before, *MLP_INPUTS}:
        return 0
    direct = kinds(step)["product"].direct and "down" in step.targets
    return (0 if direct or not step.parallel else saved.product_saved) + saved.mlp_tensors + weight_cast(step, "down") + masks(step, ("down",))


def parts(step: Step, saved: Saved) -> dict[str, int]:
    """What is not saved, from the input of the layer to its output."""
    return {
        "first_attention_unsaved_bytes": before_attention(step, saved),
        "first_qk_norms_unsaved_bytes": norms_of_q_and_k(step),
        "first_query_unsaved_bytes": queries(step),
        "first_scores_unsaved_bytes": scores(step),
        "first_keys_unsaved_bytes": keys_and_values(step, saved),
        "first_core_unsaved_bytes": attention(step, saved),
        "first_mlp_unsaved_bytes": mlp(step, saved),
        "first_product_unsaved_bytes": product(step, saved),
    }


def quantities(step: Step, saved: Saved) -> dict[str, int]:
    """The parts and `first_layer_unsaved_bytes`, what the shallowest layer saves less than another."""
    found = parts(step, saved)
    idle = found["first_mlp_unsaved_bytes"] + found["first_product_unsaved_bytes"] if step.mlp_idle else 0
    return {**found, "mlp_idle": int(step.mlp_idle), "idle_unsaved_bytes": idle, "first_layer_unsaved_bytes": 0 if step.checkpointing else sum(found.values())}
