"""What option, constant and measured files may hold: inputs, choices, rules, constants and where measured runs come from."""
from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from builder.schema import Book, Date, Identifier, Label, Message, Name, Scalar, Spec, Text


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
    defaults: dict[Book, Scalar | None] = {}  # of books whose default is another
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

    books: list[Book] = Field(min_length=1)  # in which they stand
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
    """presets/measured/<slug>.yaml: where the rows of the CSV beside it come from."""

    books: list[Book] = Field(min_length=1)
    source: Text
    date: Date
    notes: Text | None = None


class Measured(MeasuredFile):
    """Measured runs with their slug (the file name): one dict a row, column name to number, text, or None for a blank cell."""

    slug: str
    rows: list[dict[str, Scalar | None]]


class ConstantsFile(RootModel[list[Constant]]):
    """presets/constants.yaml: a list of constants."""
