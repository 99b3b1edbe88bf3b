"""Training: a job's choices as switches (0 or 1), counts and bytes per element.

    stored    of weights, their gradients and the optimizer's states
    computed  of matrix multiplications and what they give: BF16 under autocast, else the stored type
    cast      of autocast's BF16 copy of a matrix, 0 where there is none
    stream    of the hidden states between layers: the stored type, as autocast leaves sums and norms in FP32

Source: PyTorch 2.13.0 aten/src/ATen/autocast_mode.h; transformers 5.24.0; traces (tests/tracer/full.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.shape import Shape
from builder.reference.training_job import TrainingJob

FP32, BF16, MASK = 4, 2, 1
"""Bytes of an element; MASK is one of a dropout mask."""


@dataclass(frozen=True)
class TrainingStep:
    """One training step, resolved. `encoder`: LayerNorm, one projection for q, k and v, an MLP without a gate, the loss in the
    loop; otherwise a Llama-shaped decoder of transformers."""

    shape: Shape
    encoder: bool
    tied: bool
    family: object
    tokens: int
    sequence: int
    several: bool
    stored: int
    autocast: bool
    optimizer: str
    accumulates: bool
    checkpointing: bool
    eager: bool
    drops: bool
    cache: bool
    output_kept: bool
    window: int
    full_every: int
    rotary_share: float

    @property
    def computed(self) -> int:
        return BF16 if self.autocast else self.stored

    @property
    def stream(self) -> int:
        return self.stored

    @property
    def cast(self) -> int:
        return BF16 if self.autocast and self.stored == FP32 else 0

    @property
    def mask(self) -> int:
        """Bytes per element of a mask of the model's own dropout on hidden states, which decoders of this kind do not have."""
        return MASK if self.encoder and self.drops else 0

    @property
    def gathered(self) -> int:
        """Bytes of a finished gradient that was not there before: 0 where gradients accumulate in place."""
        return 0 if self.accumulates else self.stored

    @property
    def grouped(self) -> bool:
        return self.shape.heads > self.shape.kv_heads

    @property
    def expands(self) -> bool:
        """Whether eager attention copies keys and values for every query head."""
        return self.eager and self.grouped and (self.several or self.shape.kv_heads > 1)

    @property
    def window_masked(self) -> bool:
        """Whether SDPA masks a sliding layer, because the sequence reaches its window."""
        return self.window > 0 and self.sequence >= self.window and not self.eager

    @property
    def window_repeats(self) -> bool:
        """Whether keys and values are repeated for a masked sliding layer, which SDPA does not do itself."""
        return self.window_masked and self.grouped

    def hidden(self, element: int) -> int:
        """Bytes of a tensor of tokens x hidden size."""
        return self.tokens * self.shape.hidden_size * element

    def middle(self, element: int) -> int:
        """Bytes of a tensor of tokens x feed-forward width."""
        return self.tokens * self.shape.feed_forward * element

    def scores(self, element: int) -> int:
        """Bytes of one layer's attention scores."""
        return self.tokens * self.sequence * self.shape.heads * element

    def logits(self, element: int) -> int:
        """Bytes of a tensor of tokens x vocabulary."""
        return self.tokens * self.shape.vocabulary * element


def step_of(job: TrainingJob) -> TrainingStep:
    """The step of a valid job."""
    plain_loop = job.training_loop == "Plain loop"
    asked = {"By loop": plain_loop, "Yes": True, "No": False}
    encoder = job.family.sinusoidal_positions
    rate = job.family.model_dropout if job.dropout_rate is None else job.dropout_rate
    return TrainingStep(
        shape=job.shape,
        encoder=encoder,
        tied=job.model.shape.tied_embeddings,
        family=job.family,
        tokens=job.batch_size * job.sequence_length,
        sequence=job.sequence_length,
        several=job.batch_size > 1,
        stored=FP32 if job.storage_precision == "FP32" else BF16,
        autocast=job.compute_precision == "BF16 mixed precision",
        optimizer=job.optimizer_choice,
        accumulates=job.gradient_accumulation_steps > 1,
        checkpointing=job.checkpointing,
        eager=job.attention_kernel == "Eager" and not encoder,
        drops=rate > 0,
        cache=asked[job.keeps_kv_cache] and not job.checkpointing and not encoder,
        output_kept=asked[job.keeps_previous_output],
        window=job.model.sliding_window or 0,
        full_every=job.model.full_attention_every,
        rotary_share=job.model.rotary_share,
    )


def quantities(step: TrainingStep) -> dict[str, int]:
    """The switches and element sizes that the workbook names."""
    return {
        "encoder_on": int(step.encoder),
        "eager_on": int(step.eager),
        "drops_on": int(step.drops),
        "cache_on": int(step.cache),
        "output_kept": int(step.output_kept),
        "accumulates_on": int(step.accumulates),
        "eager_expands": int(step.expands),
        "window_masked": int(step.window_masked),
        "stored_bytes": step.stored,
        "computed_bytes": step.computed,
        "cast_bytes": step.cast,
        "mask_bytes": step.mask,
        "gathered_bytes": step.gathered,
    }
