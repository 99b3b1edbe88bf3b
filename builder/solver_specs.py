"""Blocks that solve: the lines that a total is made of, and a search by steps."""
from __future__ import annotations

from typing import Literal

from pydantic import Field

from builder.parts import Part
from builder.schema import Spec, Text


class LineColumn(Part):
    """A column of a table of lines; `{quantity}` in its formula is the quantity of the row."""

    name: str  # the column is line_<name>, within a group <group>_<name>
    heading: str
    formula: Text
    span: str | None = None  # neighbours with one span also have the range <group>_<span> over all of them


class LineGroup(Part):
    """Consecutive quantities of the Workings."""

    name: str
    first: str
    last: str


class Lines(Part):
    """Quantities that grow in a straight line, or a parabola: one a row, with their coefficients."""

    kind: Literal["lines"]
    new_page: bool = False  # in print
    title: str
    text: str = ""
    prefix: str  # of the names of its columns
    columns: list[LineColumn]
    groups: list[LineGroup]


class StepColumn(Spec):
    """A column of a search; `above_<name>` in its formula is the cell above in column <name>."""

    name: str
    heading: str
    unit: str
    first: Text  # formula of the first row
    formula: Text  # of every row below it


class Steps(Part):
    """A search by steps: every row builds on the one above it."""

    kind: Literal["steps"]
    new_page: bool = False  # in print
    title: str
    text: str = ""
    rows: int = Field(ge=2)
    columns: list[StepColumn]
