"""What lever, method and scenario files may hold: what to type into which inputs, under a name, with its source."""
from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from builder.schema import TITLE_LENGTH, Book, Date, Name, Scalar, Spec, Text

COST_LENGTH = 110
# Inputs of which a lever may take a share: whole numbers from 1, of which fewer are another job of the same kind.
SHARED = ("batch_size", "sequence_length", "adapter_top_layers", "prompt_tokens", "output_tokens", "concurrent_sequences", "prefill_chunk_tokens")
# Inputs that every example names, so that it is about the same job whatever the Sizing sheet says.
NEEDED = {
    "finetune": ("base_model", "base_storage", "kbit_preparation", "lora_rank", "lora_targets", "batch_size", "sequence_length", "activation_checkpointing", "gpu_card"),
    "training": ("base_model", "storage_precision", "compute_precision", "optimizer_choice", "batch_size", "sequence_length", "activation_checkpointing", "gpu_card"),
    "inference": ("base_model", "weight_storage", "kv_cache_storage", "prompt_tokens", "output_tokens", "concurrent_sequences", "gpu_card"),
}


def _at_most(length: int) -> AfterValidator:
    def check(text: str) -> str:
        if len(text) > length:
            raise ValueError(f"should have at most {length} characters")
        return text

    return AfterValidator(check)


ShortName = Annotated[Name, _at_most(TITLE_LENGTH)]
Cost = Annotated[Text, _at_most(COST_LENGTH)]
Share = Annotated[float, Field(gt=0, lt=1)]
Typed = dict[str, Scalar]  # public name of an input -> what to type into it


class LeverFile(Spec):
    """presets/levers/<slug>.yaml: one change to a job that saves memory, and what it costs.

    `sets` says what to type; `shares` the share of the number in use that is left, rounded down and at least 1. No input stands under both.
    """

    books: list[Book] = Field(min_length=1)
    name: ShortName
    sets: Typed = {}
    shares: dict[str, Share] = {}
    cost_class: Annotated[int, Field(ge=1, le=4)]  # 1 the same result as fast, 2 slower, 3 may change the result, 4 changes the job
    cost: Cost
    source: Text  # of the cost
    date: Date
    notes: Text | None = None


class Lever(LeverFile):
    """A lever with its slug (the file name)."""

    slug: str


class MethodFile(Spec):
    """presets/methods/<slug>.yaml: one way to fine-tune. All methods set the same inputs."""

    books: list[Book] = Field(min_length=1)
    name: ShortName
    order: int
    sets: Typed
    source: Text
    date: Date
    notes: Text | None = None


class Method(MethodFile):
    """A method with its slug (the file name)."""

    slug: str


class ScenarioRow(Spec):
    """An example job: what it types into the inputs, beside what all rows of its file have in common."""

    name: Name
    sets: Typed = {}


class ScenarioFile(Spec):
    """presets/scenarios/<slug>.yaml: example jobs; a row's own value goes before a common one."""

    books: list[Book] = Field(min_length=1)
    common: Typed = {}
    rows: list[ScenarioRow] = Field(min_length=1)
    source: Text
    date: Date
    notes: Text | None = None


class Scenario(ScenarioRow):
    """An example job with everything that it types in `sets`, common values included, and the slug, source and date of its file."""

    slug: str
    source: Text
    date: Date
