"""A training job whose every input was found valid: what the line items are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.reference import shape as shapes
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
    overrides = {dimension: values[f"{dimension}_override"] for dimension in shapes.DIMENSIONS}
    return TrainingJob(
        model=model,
        family=family,
        card=card,
        shape=shapes.used(model.shape, overrides),
        parameters_override=values["parameters_override"],
        storage_precision=values["storage_precision"],
        compute_precision=values["compute_precision"],
        optimizer_choice=values["optimizer_choice"],
        gradient_accumulation_steps=values["gradient_accumulation_steps"],
        batch_size=values["batch_size"],
        sequence_length=values["sequence_length"],
        checkpointing=values["activation_checkpointing"] == "On",
        attention_kernel=values["attention_kernel"],
        dropout_rate=values["dropout_rate"],
        training_loop=values["training_loop"],
        keeps_kv_cache=values["keeps_kv_cache"],
        keeps_previous_output=values["keeps_previous_output"],
        allocator_mode=values["allocator_mode"],
        gpu_capacity_override_gb=values["gpu_capacity_override_gb"],
        memory_already_used_gb=values["memory_already_used_gb"] or 0,
    )
