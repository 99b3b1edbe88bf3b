"""What the file of a card may hold: its memory in every state, its context, and what else a buyer compares, each with source and date."""
from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.schema import Count, Date, Name, Positive, Spec, Text


class OtherEcc(Spec):
    """What a process can use once the card's ECC is switched to `state`, MiB; the usable memory above is for the other state."""

    state: Literal["ECC on", "ECC off"]
    usable_mib: Count
    estimate: bool
    source: Text
    date: Date


class Windows(Spec):
    """What PyTorch shows on Windows, MiB: nearly the whole card, of which the desktop and its driver model take part."""

    shown_mib: Count
    source: Text
    date: Date


class Memory(Spec):
    """A card's memory: as sold (GB, which are GiB), and what a Linux process can use, its own context included (MiB)."""

    marketing_gb: Positive
    type: Text
    usable_mib: Count
    estimate: bool
    basis: Text
    source: Text
    date: Date
    other_ecc: OtherEcc | None = None  # where ECC can be switched and takes memory
    windows: Windows | None = None  # where Windows shows another figure


class Context(Spec):
    """What the driver and its libraries take for one process, MiB."""

    mib: Positive
    estimate: bool
    source: Text
    date: Date


class Bandwidth(Spec):
    """Memory bandwidth, GB/s of 10^9 bytes; no formula reads it."""

    gb_s: Positive
    source: Text
    date: Date


class Instances(Spec):
    """Names under which clouds rent the card."""

    names: list[Text] = Field(min_length=1)
    source: Text
    date: Date


class CardFile(Spec):
    """presets/cards/<slug>.yaml."""

    name: Name
    vendor: Text
    segment: Literal["consumer", "workstation", "datacenter", "embedded", "unified"]
    memory: Memory
    context: Context
    bandwidth: Bandwidth | None = None
    instances: Instances | None = None
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")] | None
    native_bf16: bool
    notes: Text | None = None


class CardPreset(CardFile):
    """A card with its slug (the file name)."""

    slug: str
