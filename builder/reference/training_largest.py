"""The largest batch and sequence of a training job: what it needs at others, over which `largest` searches. Units: bytes.

Source: this project's public interface.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Mapping

from builder.reference import training_ledger
from builder.reference.largest import Needs
from builder.reference.training_job import TrainingJob


def needs_of(job: TrainingJob, shared: Mapping[str, float]) -> Needs:
    """What a job needs at other batches and sequences, each computed once; `shared` are the quantities that both accountings share."""

    @cache
    def needs(batch: int, sequence: int) -> tuple[float, float]:
        found = training_ledger.quantities(replace(job, batch_size=batch, sequence_length=sequence), shared)
        return found["traced_peak_bytes"], found["traced_reserve_bytes"]

    return needs
