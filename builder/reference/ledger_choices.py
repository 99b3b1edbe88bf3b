"""Ledger: a job's choices as switches (0 or 1), bytes per element and counts.

Source: transformers 5.24.0, PEFT 0.21.2 and bitsandbytes 0.50.2 as traced by tests/tracer.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.input_notes import QUANTISED
from builder.reference.job import Job
from builder.reference.shape import Shape

FP32, BF16, INT8, MASK = 4, 2, 1, 1
"""Bytes of an element; MASK is one of a dropout mask or an attention mask."""


@dataclass(frozen=True)
class Step:
    """One training step, resolved.

    `targets` are the projections with an adapter, a fused one under its own name (`qkv`, `gate_up`). `several`:
    more than one sequence, because eager attention treats a single one apart. Bytes are per element: `stream` of the residual
    stream, of norms, embedding and head; `adapter` of adapters and their gradients; `branch` in which adapters compute; `projection`
    of what q, k, v, gate and up give; `attention` in which attention computes; `logit`.
    """

    shape: Shape
    experts: int | None
    family: object
    targets: frozenset[str]
    storage: str
    rank: int
    tokens: int
    sequence: int
    several: bool
    layers_adapted: int
    autocast: bool
    stream: int
    adapter: int
    dropout: bool
    checkpointing: bool
    eager: bool
    fused_loss: bool
    cache: bool
    output_kept: bool
    window: int
    full_every: int
    rotary_share: float
    optimizer: str

    @property
    def int8(self) -> bool:
        return self.storage == "INT8"

    @property
    def nf4(self) -> bool:
        return self.storage in ("NF4", "NF4 double-quantised")

    @property
    def plain(self) -> bool:
        return not (self.int8 or self.nf4)

    @property
    def stream_casts(self) -> bool:
        """Whether autocast turns the FP32 stream to BF16 before a matrix multiplication."""
        return self.autocast and self.stream == FP32

    @property
    def branch(self) -> int:
        return BF16 if self.autocast else self.adapter

    @property
    def projection(self) -> int:
        return BF16 if self.plain and self.autocast else self.stream

    @property
    def attention(self) -> int:
        return BF16 if self.autocast else self.projection

    @property
    def logit(self) -> int:
        return BF16 if self.autocast else self.stream

    @property
    def values_cast(self) -> bool:
        """Whether autocast turns FP32 values to BF16 for attention: those of a quantised layer on an FP32 stream."""
        return self.stream_casts and not self.plain

    @property
    def all_fp32(self) -> bool:
        """Whether attention computes in FP32."""
        return self.stream == FP32 and not self.autocast

    @property
    def mask_bytes(self) -> int:
        """Bytes per element of a dropout mask, 0 without dropout."""
        return MASK if self.dropout else 0

    @property
    def grouped(self) -> bool:
        return self.shape.heads > self.shape.kv_heads

    @property
    def eager_expands(self) -> bool:
        """Whether eager attention copies keys and values for every query head; one KV head of one sequence is repeated as a view."""
        return self.eager and self.grouped and (self.several or self.shape.kv_heads > 1)

    @property
    def norm_pairs(self) -> bool:
        """Whether there is a norm after attention and after the MLP."""
        return self.family.norms_per_layer > 2 or not self.norms_first

    @property
    def norms_first(self) -> bool:
        """Whether attention and MLP begin with a norm."""
        return self.family.norms_first

    @property
    def roots(self) -> tuple[int, int]:
        """Roots of the norms of q and of k, per token: one per head, or one for all."""
        return (1, 1) if self.family.wide_qk_norms else (self.shape.heads, self.shape.kv_heads)

    @property
    def stops_at_product(self) -> bool:
        """Whether recomputation stops before down's input: a quantised down without an adapter saves nothing that it waits for."""
        return self.checkpointing and not self.norm_pairs and not self.plain and "down" not in self.targets

    @property
    def qk_norm(self) -> bool:
        return self.family.qk_norms > 0

    @property
    def window_masked(self) -> bool:
        """SDPA masks a sliding layer once the sequence reaches the window."""
        return self.window > 0 and self.sequence >= self.window and not self.eager

    @property
    def scores(self) -> int:
        """Attention scores of one layer, elements."""
        return self.tokens * self.sequence * self.shape.heads

    def full_layers(self, layers: int) -> int:
        """Layers with full attention among the lowest `layers`."""
        return layers // self.full_every if self.full_every else 0

    def sliding_layers(self, top: int) -> int:
        """Sliding layers among the highest `top`."""
        return top - self.full_layers(self.shape.layers) + self.full_layers(self.shape.layers - top)

    def hidden(self, element: int) -> int:
        """Bytes of a tensor of tokens x hidden size."""
        return self.tokens * self.shape.hidden_size * element


def step_of(job: Job, targets: frozenset[str], layers_adapted: int) -> Step:
    """The step of a valid job; `targets` name the projections that have an adapter."""
    quantised = job.base_storage in QUANTISED
    fp32_stream = job.base_storage == "FP32" or (quantised and job.kbit_preparation == "Yes")
    plain_loop = job.training_loop == "Plain loop"
    asked = {"By loop": plain_loop, "Yes": True, "No": False}
    return Step(
        shape=job.shape,
        experts=job.model.shape.experts,
        family=job.family,
        targets=targets,
        storage=job.base_storage,
        rank=job.lora_rank,
        tokens=job.batch_size * job.sequence_length,
        sequence=job.sequence_length,
        several=job.batch_size > 1,
        layers_adapted=layers_adapted,
        autocast=job.compute_precision == "BF16 mixed precision",
        stream=FP32 if fp32_stream else BF16,
        adapter=FP32 if job.adapter_dtype == "FP32" else BF16,
        dropout=job.lora_dropout > 0,
        checkpointing=job.checkpointing,
        eager=job.attention_kernel == "Eager" or job.family.eager_only,
        fused_loss=job.loss_kernel == "Fused or chunked",
        cache=asked[job.keeps_kv_cache] and not job.checkpointing,
        output_kept=asked[job.keeps_previous_output],
        window=job.model.sliding_window or 0,
        full_every=job.model.full_attention_every,
        rotary_share=job.model.rotary_share,
        optimizer=job.optimizer_choice,
    )


def quantities(step: Step) -> dict[str, float]:
    """The switches and element sizes that the workbook names."""
    layers = step.shape.layers
    return {
        "activations_modelled": int(step.family.activations_modelled),
        "autocast_on": int(step.autocast),
        "base_is_int8": int(step.int8),
        "base_is_nf4": int(step.nf4),
        "base_is_plain": int(step.plain),
        "stream_is_fp32": int(step.stream == FP32),
        "stream_casts": int(step.stream_casts),
        "stream_bytes": step.stream,
        "adapter_bytes": step.adapter,
        "branch_bytes": step.branch,
        "projection_bytes": step.projection,
        "attention_bytes": step.attention,
        "logit_bytes": step.logit,
        "values_cast": int(step.values_cast),
        "all_fp32": int(step.all_fp32),
        "drop_mask_bytes": step.mask_bytes,
        "eager_on": int(step.eager),
        "fused_loss_on": int(step.fused_loss),
        "cache_on": int(step.cache),
        "output_kept": int(step.output_kept),
        "eager_expands": int(step.eager_expands),
        "norms_first": int(step.norms_first),
        "norm_pairs": int(step.norm_pairs),
        "q_roots": step.roots[0],
        "k_roots": step.roots[1],
        "qk_norm_on": int(step.qk_norm),
        "window_masked": int(step.window_masked),
        "sliding_layers_adapted": step.sliding_layers(step.layers_adapted),
        "top_layer_slides": step.sliding_layers(1),
        "any_layer_slides": int(step.sliding_layers(layers) > 0),
        "mask_kinds": 2 if step.full_every > 1 else 1,
        "score_elements": step.scores,
    }
