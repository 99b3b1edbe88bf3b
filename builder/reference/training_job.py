"""A training job whose every input was found valid: what the line items are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.reference import job
from builder.reference.shape import Shape


@dataclass(frozen=True)
class TrainingJob:
    """Presets and choices of one training job in which every weight trains.

    Choices are the texts of the dropdowns, numbers are in the unit of their input, and None is a blank that has a meaning
    (no override; the model's own dropout).
    """

    model: object
    family: object
    card: object
    shape: Shape
    parameters_override: int | None
    storage_precision: str
    compute_precision: str
    optimizer_choice: str
    gradient_accumulation_steps: int
    batch_size: int
    sequence_length: int
    checkpointing: bool
    attention_kernel: str
    dropout_rate: float | None
    training_loop: str
    keeps_kv_cache: str
    keeps_previous_output: str
    allocator_mode: str
    gpu_capacity_override_gb: float | None
    memory_already_used_gb: float

    @property
    def modelled(self) -> bool:
        """Whether the ledger gives a total."""
        return self.family.training_modelled

    @property
    def uses_bf16(self) -> bool:
        """Whether the job computes or holds something in BF16."""
        return self.storage_precision == "BF16" or self.compute_precision == "BF16 mixed precision"

    @property
    def expandable(self) -> bool:
        """Whether the allocator uses expandable segments."""
        return self.allocator_mode == "Expandable segments"


def job_of(values: Mapping[str, object], model: object, family: object, card: object) -> TrainingJob:
    """The job of valid input values by public name (None = blank) and of the presets that they name."""
    return job.job_of(TrainingJob, values, model, family, card, checkpointing=values["activation_checkpointing"] == "On")
