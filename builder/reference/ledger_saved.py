"""Ledger: what one layer with adapters saves for backward. Units: bytes.

    norms         input in FP32 and its reciprocal root, each
    q, k, v       per adapter its own copy of the input, a dropout mask and lora_A's output; with an FP32 base under autocast
                  the BF16 cast of the weight
    attention     queries, keys, values; SDPA: output and log-sum-exp; eager: softmax in FP32 and its cast
    o             as q, k, v
    MLP           outputs of gate, of the activation and of up; the product where down's adapter has no copy of its own

Source: traces (tests/tracer) of transformers' modules; PEFT and bitsandbytes as in `ledger_inputs`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from builder.reference.ledger_choices import BF16, FP32, Step
from builder.reference.ledger_frozen_base import matrices
from builder.reference.ledger_inputs import Copies, kinds

ATTENTION_INPUTS, MLP_INPUTS = ("q", "k", "v", "qkv"), ("gate", "up", "gate_up")


@dataclass(frozen=True)
class Saved:
    """Bytes that a layer saves, in the order in which its forward pass saves them. `norm` counts once here, twice in a layer; `final_norm` is the same of the final norm, which no layer has;
    `shared_input` the input of the layer, where its first norm saves it as it is.
    `values_width` is that of the storage that keeps the values, elements."""

    final_norm: int
    norm: int
    shared_input: int
    attention_input: int
    attention_adapters: int
    attention_weight_casts: int
    qk_norms: int
    attention_tensors: int
    log_sum_exp: int
    scores: int
    cache: int
    cache_copies: int
    context_copy: int
    o_adapters: int
    o_weight_cast: int
    post_norm: int
    mlp_input: int
    gate: int
    up: int
    product: int
    product_saved: int
    down: int
    window_extra: int
    values_width: int

    @property
    def attention_first(self) -> int:
        return self.norm + self.attention_input + self.attention_adapters + self.attention_weight_casts + self.qk_norms

    @property
    def attention_core(self) -> int:
        return self.attention_tensors + self.log_sum_exp + self.scores + self.cache_copies

    @property
    def o(self) -> int:
        return self.context_copy + self.o_adapters + self.o_weight_cast

    @property
    def attention_side(self) -> int:
        """Up to the input of the MLP."""
        return self.attention_first + self.attention_core + self.o + self.post_norm + self.norm + self.mlp_input

    @property
    def mlp_tensors(self) -> int:
        return 3 * self.product

    @property
    def mlp_side(self) -> int:
        return self.gate + self.up + self.mlp_tensors + self.product_saved + self.down + self.post_norm

    @property
    def layer(self) -> int:
        return self.attention_side + self.mlp_side


def weight_cast(step: Step, projection: str) -> int:
    """The BF16 cast of an FP32 weight that autograd keeps, 0 where there is none."""
    inputs, outputs = matrices(step)[projection]
    return BF16 * inputs * outputs if step.plain and step.stream_casts else 0


def adapter_saved(step: Step, projection: str, made: Copies) -> int:
    """What an adapter saves: its own copy of the input, the mask, lora_A's output."""
    if projection not in step.targets:
        return 0
    inputs, _ = matrices(step)[projection]
    return step.tokens * ((made.own + step.mask_bytes) * inputs + step.branch * step.rank)


def shares_input(step: Step, projections: tuple[str, ...], made: Copies) -> bool:
    """Whether the input of these projections is saved as it is: by an adapter without a copy, or by an INT8 layer."""
    return step.int8 or (made.direct and any(name in step.targets for name in projections))


def saved_by_layer(step: Step) -> Saved:
    """Every tensor that a layer with adapters saves."""
    shape, tokens = step.shape, step.tokens
    q, kv, ff = shape.q_width, shape.kv_width, shape.feed_forward
    made = kinds(step)
    here = matrices(step)
    norm = step.hidden(FP32) + FP32 * tokens
    own_input = step.norms_first or not step.checkpointing  # else it is the boundary, which checkpointing keeps
    product = tokens * ff * step.projection
    copied = step.cache or step.values_cast or (step.eager and step.several)
    values = q + 2 * kv if step.family.fused_qkv and not copied else kv
    expands = step.eager_expands
    keys_values = 2 * q if expands else kv + values
    cache = step.cache * tokens * kv * (step.stream + step.projection)
    copies = step.cache * tokens * kv * (
        step.stream * (step.stream_casts or expands) + step.projection * (step.values_cast or expands)
    )
    repeats = step.grouped and shape.kv_heads > 1
    window = step.tokens * step.sequence * step.attention
    if repeats:
        window += tokens * step.attention * (2 * q - keys_values) + cache - copies
    return Saved(
        final_norm=norm,
        norm=norm if step.norms_first else 0,
        shared_input=step.hidden(FP32) if step.norms_first and step.stream == FP32 else 0,
        attention_input=own_input * step.hidden(step.stream) * shares_input(step, ATTENTION_INPUTS, made["stream"]),
        attention_adapters=sum(adapter_saved(step, name, made["stream"]) for name in here if name in ATTENTION_INPUTS),
        attention_weight_casts=sum(weight_cast(step, name) for name in here if name in ATTENTION_INPUTS),
        qk_norms=step.qk_norm * tokens * FP32 * (q + kv + sum(step.roots)),
        attention_tensors=tokens * step.attention * (q + keys_values + (0 if step.eager else q)),
        log_sum_exp=0 if step.eager else tokens * shape.heads * FP32,
        scores=step.eager * step.scores * (
            FP32 + step.attention * (not step.all_fp32) + step.attention * step.family.attention_softcap
        ),
        cache=cache,
        cache_copies=copies,
        context_copy=tokens * q * step.attention * (
            (step.eager or step.family.fused_qkv) and shares_input(step, ("o",), made["context"])
        ),
        o_adapters=adapter_saved(step, "o", made["context"]),
        o_weight_cast=weight_cast(step, "o"),
        post_norm=norm if step.norm_pairs else 0,
        mlp_input=step.hidden(step.stream) * shares_input(step, MLP_INPUTS, made["stream"]),
        gate=sum(adapter_saved(step, name, made["stream"]) + weight_cast(step, name) for name in here if name in ("gate", "gate_up")),
        up=sum(adapter_saved(step, name, made["stream"]) + weight_cast(step, name) for name in here if name == "up"),
        product=product,
        product_saved=product * shares_input(step, ("down",), made["product"]),
        down=adapter_saved(step, "down", made["product"]) + weight_cast(step, "down"),
        window_extra=step.window_masked * window,
        values_width=values,
    )


def quantities(step: Step, saved: Saved) -> dict[str, int]:
    """Every tensor kind of a layer by the workbook's name, and their sums."""
    named = {
        f"{'norm' if name == 'final_norm' else 'norm_saved' if name == 'norm' else 'post_norm_saved' if name == 'post_norm' else name}_bytes": value
        for name, value in asdict(saved).items()
        if name not in ("scores", "cache", "gate", "up", "down", "values_width")
    }
    return {
        **named,
        "scores_saved_bytes": saved.scores,
        "cache_layer_bytes": saved.cache,
        "gate_saved_bytes": saved.gate,
        "up_saved_bytes": saved.up,
        "down_saved_bytes": saved.down,
        "values_width": saved.values_width,
        "boundary_bytes": step.hidden(step.stream),
        "hidden_fp32_bytes": step.hidden(FP32),
        "gate_weight_cast_bytes": sum(weight_cast(step, name) for name in matrices(step) if name in ("gate", "gate_up")),
        "up_weight_cast_bytes": sum(weight_cast(step, name) for name in matrices(step) if name == "up"),
        "down_weight_cast_bytes": weight_cast(step, "down"),
        "attention_first_bytes": saved.attention_first,
        "attention_core_bytes": saved.attention_core,
        "o_saved_bytes": saved.o,
        "attention_side_bytes": saved.attention_side,
        "mlp_tensors_bytes": saved.mlp_tensors,
        "mlp_side_bytes": saved.mlp_side,
        "layer_saved_bytes": saved.layer,
    }
