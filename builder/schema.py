"""What a preset file may hold: one model per kind of file, every key named, every value typed, every fact with source and date."""
from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, RootModel

Scalar = str | int | float

PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
DIMENSIONS = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary")
# Excel shows no more of an input message (and of an error message) and of its title.
HELP_LENGTH, TITLE_LENGTH, NAME_LENGTH = 255, 32, 60


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _name(text: str) -> str:
    """A text that a dropdown offers and a lookup finds again: no wildcard, no quote, no stray space, no bare number."""
    if found := re.search(r"""[*?~"'`]""", text):
        raise ValueError(f"must not contain {found[0]} (a wildcard or a quote to spreadsheets)")
    if text != " ".join(text.split()):
        raise ValueError("must not have leading, trailing or double spaces, or line breaks")
    if not text[:1].isalnum() or not any(map(str.isalpha, text)):
        raise ValueError("must start with a letter or digit and contain a letter (a spreadsheet would read it as a number or formula)")
    return text


def _identifier(text: str) -> str:
    # With an underscore it cannot be a cell address, as bf16 or r1c1 would be.
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", text):
        raise ValueError("must be snake_case with an underscore, such as lora_rank")
    return text


def _iso_date(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        return date.fromisoformat(value)
    if not isinstance(value, date):
        raise ValueError("is not a date; write one as 2026-11-30")
    return value


Text = Annotated[str, AfterValidator(_not_empty)]
Name = Annotated[str, Field(max_length=NAME_LENGTH), AfterValidator(_name)]
Identifier = Annotated[str, AfterValidator(_identifier)]
Label = Annotated[str, Field(max_length=TITLE_LENGTH), AfterValidator(_not_empty)]
Message = Annotated[str, Field(max_length=HELP_LENGTH), AfterValidator(_not_empty)]
Date = Annotated[date, BeforeValidator(_iso_date)]
# Spreadsheets keep 15 digits of a number.
Count = Annotated[int, Field(ge=1, lt=10**15)]
Positive = Annotated[int | float, Field(gt=0)]


class Spec(BaseModel):
    """Base of every preset: no unknown key, no conversion between types, no change after loading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Family(Spec):
    """presets/families/<slug>.yaml: what the layers of a model family are made of."""

    name: Name
    architectures: list[Text] = Field(min_length=1)
    norms_per_layer: Annotated[int, Field(ge=0)]  # norm weight vectors of hidden_size
    final_norms: Annotated[int, Field(ge=0)]
    gated_mlp: bool
    projections: list[Literal["q", "k", "v", "o", "gate", "up", "down"]]
    source: Text
    date: Date
    notes: Text | None = None


class Shape(Spec):
    """Dimensions of a decoder in elements; layers, heads and kv_heads are counts, vocabulary is in tokens."""

    hidden_size: Count
    layers: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    feed_forward: Count
    vocabulary: Count
    tied_embeddings: bool
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    source: Text
    date: Date


class Parameters(Spec):
    """The parameter count; `published: false` where the source is the shape alone."""

    value: Count
    published: bool = True
    source: Text
    date: Date


class ModelFile(Spec):
    """presets/models/<slug>.yaml."""

    name: Name
    family: str
    hub_id: Text
    shape: Shape
    parameters: Parameters
    notes: Text | None = None


class ModelPreset(ModelFile):
    """A model with its slug (the file name) and the name of its family."""

    slug: str
    family_name: str

    @property
    def q_width(self) -> int:
        """Output width of the query projection, elements."""
        return self.shape.heads * self.shape.head_dim

    @property
    def kv_width(self) -> int:
        """Output width of the key projection, and of the value projection, elements."""
        return self.shape.kv_heads * self.shape.head_dim

    def parameters_from_shape(self, family: Family) -> int:
        """The number of parameters that the shape implies for a model of `family`."""
        shape, hidden = self.shape, self.shape.hidden_size
        projections = 2 * hidden * (self.q_width + self.kv_width) + 3 * hidden * shape.feed_forward
        biases = (
            shape.qkv_bias * (self.q_width + 2 * self.kv_width)
            + shape.o_bias * hidden
            + shape.mlp_bias * (2 * shape.feed_forward + hidden)
        )
        layer = projections + biases + family.norms_per_layer * hidden
        embeddings = (1 if shape.tied_embeddings else 2) * shape.vocabulary * hidden
        return embeddings + shape.layers * layer + family.final_norms * hidden


class Memory(Spec):
    """A card's memory: as sold (GB, which are GiB), and what a Linux process can use, its own context included (MiB)."""

    marketing_gb: Positive
    type: Text
    usable_mib: Count
    estimate: bool
    basis: Text
    source: Text
    date: Date


class Context(Spec):
    """What the driver and its libraries take for one process, MiB."""

    mib: Positive
    estimate: bool
    source: Text
    date: Date


class CardFile(Spec):
    """presets/cards/<slug>.yaml."""

    name: Name
    vendor: Text
    segment: Literal["consumer", "workstation", "datacenter", "embedded"]
    memory: Memory
    context: Context
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")] | None
    native_bf16: bool
    notes: Text | None = None


class CardPreset(CardFile):
    """A card with its slug (the file name)."""

    slug: str


class Choice(BaseModel):
    """A choice: its text, and what it means in numbers as further keys."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, int | float]

    name: Name

    @property
    def properties(self) -> dict[str, int | float]:
        return dict(self.model_extra or {})

    @property
    def row(self) -> dict[str, Scalar]:
        """Name and properties, as a row of a table."""
        return {"name": self.name, **self.properties}


class ChoiceList(Spec):
    """Choices under a name: a list that several inputs share, or an input's own under the input's name."""

    name: Identifier
    label: Label
    choices: list[Choice] = Field(min_length=1)
    source: Text
    date: Date

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        return [choice.row for choice in self.choices]


class InputSpec(Spec):
    """One input, as an option file describes it; `choices` are its own, or the name of a shared list."""

    name: Identifier
    label: Label
    step: Annotated[int, Field(ge=1, le=4)]
    order: int
    kind: Literal["choice", "model", "card", "whole", "number"]
    unit: Text
    default: Scalar | None
    blank: Literal["message", "allowed"]
    blank_means: Text | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = None
    exclusive_maximum: int | float | None = None
    maximum_name: str | None = None
    choices: str | list[Choice] | None = None
    help: Message
    message: Message
    source: Text
    date: Date


class Input(InputSpec):
    """An input with its choices looked up; `choices_name` is the shared list's name, or the input's own."""

    choices: list[Choice] | None
    choices_name: str | None


class Rule(Spec):
    """A check over several inputs: `formula` in names, true where all is well."""

    name: Identifier
    label: Label
    formula: Text
    message: Message
    source: Text
    date: Date


class OptionFile(Spec):
    """presets/options/<file>.yaml: inputs, shared choice lists, rules, or several of these."""

    lists: list[ChoiceList] = []
    inputs: list[InputSpec] = []
    rules: list[Rule] = []


class Constant(Spec):
    """A number or text that formulas name."""

    name: Identifier
    value: Scalar
    unit: Text
    label: Text
    source: Text
    date: Date


class MeasuredFile(Spec):
    """presets/measured/<slug>.yaml: where the rows of the CSV beside it come from; model and card are presets' names."""

    model: str
    card: str
    source: Text
    date: Date
    notes: Text | None = None


class Measured(MeasuredFile):
    """Measured runs with their slug (the file name): one dict a row, column name to number, text, or None for a blank cell."""

    slug: str
    rows: list[dict[str, Scalar | None]]


class ConstantsFile(RootModel[list[Constant]]):
    """presets/constants.yaml: a list of constants."""
