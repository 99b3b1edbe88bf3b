"""Ledger: a job's choices as switches (0 or 1) and counts.

Source: transformers 5.24.0, PEFT 0.21.2 and bitsandbytes 0.50.2 as traced by tests/tracer.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.adapters import MLP
from builder.reference.input_notes import QUANTISED
from builder.reference.finetune_job import Job
from builder.reference.ledger_types import BF16, FP32, MASK, Types
from builder.reference.shape import Shape


@dataclass(frozen=True)
class Step(Types):
    """One training step, resolved.

    `targets` are the projections with an adapter, a fused one under its own name (`qkv`, `gate_up`). `several`: more than one
    sequence, because eager attention treats a single one apart. Bytes per element: `stored` of embedding, norms and head, `adapter`
    of adapters and their gradients; those of other tensors follow from the choices.
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
    def copies_context(self) -> bool:
        """Whether o gets a copy of attention's output, whose layout is that of the queries: sliced of one projection and rotated."""
        return self.scored or (self.family.fused_qkv and self.family.rotary_tables > 0)

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
    def dropped_apart(self) -> bool:
        """Whether eager attention multiplies another tensor than the softmax."""
        return self.drops or self.softmax != self.core

    @property
    def one_norm(self) -> bool:
        """Whether attention and MLP read the output of one norm."""
        return self.family.norms_per_layer == 1

    @property
    def mlp_idle(self) -> bool:
        """Whether the MLP needs no gradient: beside attention, in a lone layer, without an adapter of its own."""
        alone = self.layers_adapted == 1 and not self.checkpointing
        return self.parallel and alone and not self.targets & set(MLP)

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
        "base_is_int8": int(step.int8),
        "base_is_nf4": int(step.nf4),
        "base_is_plain": int(step.plain),
        "layer_norm_on": int(step.family.layer_norm),
        "rotates_in_fp32": int(step.family.rotates_in_fp32),
        "rotary_on": int(step.family.rotary_tables > 0),
        "gelu_steps_on": int(step.family.gelu_steps),
        "parallel_on": int(step.parallel),
        "model_drops": int(step.drops),
        "eager_on": int(step.eager),
        "sdpa_scores_on": int(step.family.sdpa_scores),
        "scores_made": int(step.scored),
        "one_norm": int(step.one_norm),
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
