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
    more than one sequence, because eager attention treats a single one apart. Bytes are per element: `stored` of
    embedding, norms and head; `stream` of the residual stream; `adapter` of adapters and their gradients; `branch` in which adapters compute; `projection`
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
    stored: int
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
    def stream(self) -> int:
        """A LayerNorm under autocast gives FP32, a quantised layer the type of its input: the stream is FP32 from the first MLP on."""
        return FP32 if self.autocast and self.family.layer_norm and not self.plain else self.stored

    @property
    def norm_input(self) -> int:
        """What a norm saves of its input: RMSNorm casts it to FP32; LayerNorm takes it as it is, and autocast casts that to FP32."""
        return FP32 if self.autocast or not self.family.layer_norm else self.stream

    @property
    def norm_shares(self) -> bool:
        """Whether a norm saves the stream's own tensor."""
        return self.norm_input == self.stream

    @property
    def normed(self) -> int:
        """Of a norm's output."""
        return self.norm_input if self.family.layer_norm else self.stream

    @property
    def norm_statistics(self) -> int:
        """Per token: a reciprocal root; LayerNorm has a mean as well."""
        return 2 * FP32 if self.family.layer_norm else FP32

    @property
    def stored_casts(self) -> bool:
        """Whether autocast turns FP32 weights to BF16."""
        return self.autocast and self.stored == FP32

    @property
    def normed_casts(self) -> bool:
        """Whether autocast turns a norm's FP32 output to BF16 before a matrix multiplication."""
        return self.autocast and self.normed == FP32

    @property
    def stream_casts(self) -> bool:
        """Whether autocast turns the FP32 stream to BF16 before a matrix multiplication."""
        return self.autocast and self.stream == FP32

    @property
    def branch(self) -> int:
        return BF16 if self.autocast else self.adapter

    @property
    def projection(self) -> int:
        return BF16 if self.plain and self.autocast else self.normed

    @property
    def product(self) -> int:
        """Of the MLP product: a GELU made of several operations has a power, which autocast runs in FP32."""
        return FP32 if self.autocast and self.family.gelu_steps else self.projection

    @property
    def rotated(self) -> int:
        """Of queries and keys as attention gets them: the rotary tables have the type of the stream."""
        return self.stream if self.family.rotary_tables else self.projection

    @property
    def copies_context(self) -> bool:
        """Whether o gets a copy of attention's output, whose layout is that of the queries: sliced of one projection and rotated."""
        return self.scored or (self.family.fused_qkv and self.family.rotary_tables > 0)

    @property
    def rotated_casts(self) -> bool:
        """Whether autocast turns FP32 queries and keys to BF16 for attention."""
        return self.autocast and self.rotated == FP32

    @property
    def softmax(self) -> int:
        """In which eager attention computes its softmax."""
        return FP32 if self.autocast or self.family.softmax_fp32 or self.core == FP32 else self.projection

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
    def mask_bytes(self) -> int:
        """Bytes per element of a dropout mask, 0 without dropout."""
        return MASK if self.dropout else 0

    @property
    def drops(self) -> bool:
        """Whether the model itself drops out attention weights and the outputs of attention and MLP."""
        return self.family.dropout

    @property
    def residual_mask(self) -> int:
        """Bytes of the mask of one such output."""
        return self.hidden(MASK) if self.drops else 0

    @property
    def scored(self) -> bool:
        """Whether attention makes scores: eager attention does, and SDPA where no kernel takes the heads as they are."""
        return self.eager or self.family.sdpa_scores

    @property
    def falls_back(self) -> bool:
        """Whether SDPA makes the scores."""
        return self.scored and not self.eager

    @property
    def core(self) -> int:
        """Of queries, keys and values as multiplied: SDPA's fallback takes them to FP32."""
        return FP32 if self.falls_back else self.attention

    @property
    def dropped_apart(self) -> bool:
        """Whether eager attention multiplies another tensor than the softmax."""
        return self.drops or self.softmax != self.core

    @property
    def one_norm(self) -> bool:
        """Whether attention and MLP read the output of one norm."""
        return self.family.norms_per_layer == 1

    @property
    def boundaries(self) -> int:
        """Bytes of the boundaries of all layers; the first is the embedding's output."""
        return (self.shape.layers - 1) * self.hidden(self.stream) + self.hidden(self.stored)

    @property
    def grouped(self) -> bool:
        return self.shape.heads > self.shape.kv_heads

    @property
    def eager_expands(self) -> bool:
        """Whether eager attention copies keys and values for every query head; one KV head of one sequence is repeated as a view."""
        return self.scored and self.grouped and (self.several or self.shape.kv_heads > 1)

    @property
    def norm_pairs(self) -> bool:
        """Whether there is a norm after attention and after the MLP as well."""
        return self.family.norms_per_layer > 2

    @property
    def parallel(self) -> bool:
        """Whether attention and MLP read the layer's input side by side."""
        return self.family.parallel_mlp

    @property
    def stops_early(self) -> bool:
        """Whether recomputation stops in down: nothing after it saves a tensor."""
        return self.checkpointing and not self.norm_pairs and not self.drops

    @property
    def stops_at_product(self) -> bool:
        """Whether recomputation stops before down's input: a quantised down without an adapter saves nothing that it waits for."""
        return self.stops_early and not self.plain and "down" not in self.targets

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
    fp32_stored = job.base_storage == "FP32" or (quantised and job.kbit_preparation == "Yes")
    plain_loop = job.training_loop == "Plain loop"
    asked = {"By loop": plain_loop, "Yes": True, "No": False}
    return Step(
        shape=job.shape,
        experts=job.model.shape.experts,
        family=job.family,
        targets=targets,
        storage=job.base_storage if job.family.quantises_attention else "BF16",
        rank=job.lora_rank,
        tokens=job.batch_size * job.sequence_length,
        sequence=job.sequence_length,
        several=job.batch_size > 1,
        layers_adapted=layers_adapted,
        autocast=job.compute_precision == "BF16 mixed precision",
        stored=FP32 if fp32_stored else BF16,
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
        "stored_bytes": step.stored,
        "stored_casts": int(step.stored_casts),
        "stream_bytes": step.stream,
        "norm_input_bytes": step.norm_input,
        "norm_shares": int(step.norm_shares),
        "normed_bytes": step.normed,
        "normed_is_fp32": int(step.normed == FP32),
        "stored_is_fp32": int(step.stored == FP32),
        "layer_norm_on": int(step.family.layer_norm),
        "rotary_on": int(step.family.rotary_tables > 0),
        "gelu_steps_on": int(step.family.gelu_steps),
        "parallel_on": int(step.parallel),
        "model_drops": int(step.drops),
        "adapter_bytes": step.adapter,
        "branch_bytes": step.branch,
        "projection_bytes": step.projection,
        "product_element_bytes": step.product,
        "rotated_bytes": step.rotated,
        "softmax_bytes": step.softmax,
        "attention_bytes": step.attention,
        "logit_bytes": step.logit,
        "values_cast": int(step.values_cast),
        "drop_mask_bytes": step.mask_bytes,
        "eager_on": int(step.eager),
        "sdpa_scores_on": int(step.family.sdpa_scores),
        "scores_made": int(step.scored),
        "core_bytes": step.core,
        "one_norm": int(step.one_norm),
        "fused_loss_on": int(step.fused_loss),
        "cache_on": int(step.cache),
        "output_kept": int(step.output_kept),
        "eager_expands": int(step.eager_expands),
        "norm_pairs": int(step.norm_pairs),
        "qk_norm_on": int(step.qk_norm),
        "window_masked": int(step.window_masked),
        "sliding_layers_adapted": step.sliding_layers(step.layers_adapted),
        "top_layer_slides": step.sliding_layers(1),
        "any_layer_slides": int(step.sliding_layers(layers) > 0),
        "mask_kinds": 2 if step.full_every > 1 else 1,
        "score_elements": step.scores,
    }
