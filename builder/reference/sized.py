"""A job with its quantities: of what the user typed, or of that with some inputs typed over."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Mapping

from builder.presets import Presets
from builder.reference import inputs


@dataclass(frozen=True)
class Sized:
    """`shared` are the quantities that all accountings share, `ledger` those that decide; the job's kind is that of its book."""

    job: object
    shared: Mapping[str, float]
    ledger: Mapping[str, float | str]

    @property
    def reserve(self) -> float:
        """Bytes reserved without the workspaces; the same on every card."""
        return self.ledger["traced_reserve_bytes"]

    @property
    def modelled(self) -> bool:
        """Whether the ledger gives a total."""
        return self.job.modelled

    @property
    def peak(self) -> float:
        """Bytes allocated without the workspaces; the same on every card."""
        return self.ledger["traced_peak_bytes"]


def size(presets: Presets, typed: Mapping[str, object]) -> Sized:
    """A job by what is typed into its inputs; an absent name has its default.

    Raises ValueError for a job with an invalid input.
    """
    job = inputs.read(presets, typed)
    if isinstance(job, inputs.Refusal):
        raise ValueError(job.input_message)
    return Sized(job, *import_module(f"builder.reference.{presets.book}_book").accounts(presets, job))
