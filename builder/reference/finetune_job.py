"""A job whose every input was found valid: what the line items are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from builder.reference import job
from builder.reference.adapters import PROJECTIONS
from builder.reference.shape import Shape


@dataclass(frozen=True)
class Job:
    """Presets and choices of one fine-tuning job.

    Choices are the texts of the dropdowns, numbers are in the unit of their input, and None is a blank that has a meaning
    (no override; adapters on all layers).
    """

    model: object
    family: object
    card: object
    shape: Shape
    parameters_override: int | None
    base_storage: str
    kbit_preparation: str
    lora_rank: int
    lora_targets: str
    switched_on: Mapping[str, bool]
    adapter_top_layers: int | None
    adapter_dtype: str
    lora_dropout: float
    batch_size: int
    sequence_length: int
    compute_precision: str
    optimizer_choice: str
    checkpointing: bool
    attention_kernel: str
    loss_kernel: str
    training_loop: str
    keeps_kv_cache: str
    keeps_previous_output: str
    allocator_mode: str
    gpu_capacity_override_gb: float | None
    memory_already_used_gb: float

    @property
    def modelled(self) -> bool:
        """Whether the ledger gives a total."""
        return self.family.activations_modelled

    @property
    def uses_bf16(self) -> bool:
        """Whether the job computes or holds something in BF16."""
        return "BF16" in (self.base_storage, self.adapter_dtype) or self.compute_precision == "BF16 mixed precision"

    @property
    def expandable(self) -> bool:
        """Whether the allocator uses expandable segments."""
        return self.allocator_mode == "Expandable segments"


def job_of(values: Mapping[str, object], model: object, family: object, card: object) -> Job:
    """The job of valid input values by public name (None = blank) and of the presets that they name."""
    return job.job_of(
        Job, values, model, family, card,
        switched_on={switch: values[f"target_{switch}"] == "Yes" for switch in PROJECTIONS},
        lora_dropout=values["lora_dropout"] or 0,
        checkpointing=values["activation_checkpointing"] == "On",
    )
