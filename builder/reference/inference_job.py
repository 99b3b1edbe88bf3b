"""An inference job whose every input was found valid: what the line items of the inference book are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from builder.reference import job
from builder.reference.shape import Shape


@dataclass(frozen=True)
class InferenceJob:
    """Presets and choices of one server's job.

    Choices are the texts of the dropdowns, numbers are in the unit of their input, and None is a blank that has a meaning (no override).
    """

    model: object
    family: object
    card: object
    shape: Shape
    parameters_override: int | None
    weight_storage: str
    kv_cache_storage: str
    prompt_tokens: int
    output_tokens: int
    concurrent_sequences: int
    prefill_chunk_tokens: int
    kv_block_tokens: int
    sampling_kernel: str
    memory_fraction: float
    gpu_capacity_override_gb: float | None
    memory_already_used_gb: float
    cuda_graphs_gb: float

    @property
    def context_tokens(self) -> int:
        """Tokens of one sequence when its last token is made."""
        return self.prompt_tokens + self.output_tokens

    @property
    def step_tokens(self) -> int:
        """Tokens that one pass of the model takes: a chunk of prompts, or one of each sequence where those are more."""
        return max(self.prefill_chunk_tokens, self.concurrent_sequences)

    @property
    def uses_bf16(self) -> bool:
        """Whether the weights are BF16, which older cards lack; the other formats compute in FP16 there."""
        return self.weight_storage == "BF16"


def job_of(values: Mapping[str, object], model: object, family: object, card: object) -> InferenceJob:
    """The job of valid input values by public name (None = blank) and of the presets that they name."""
    return job.job_of(InferenceJob, values, model, family, card, cuda_graphs_gb=values["cuda_graphs_gb"] or 0)
