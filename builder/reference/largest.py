"""The largest batch, at a job's sequence, and sequence, at its batch: the largest whole number that fits. Units: sequences, tokens.

    FITS   as the verdict        tight   what is allocated fits, so that the job does not fail

Found by bisection over the ledger, because a longer sequence, or one more of two or more, never needs less. A single sequence is
tried on its own: eager attention may hold more for it than for two.

Source: this project's public interface.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Callable, Mapping

from builder.reference import ledger, ledger_total
from builder.reference.finetune_job import Job
from builder.reference.inputs import Refusal
from builder.reference.place import Place, place_of

MOST = 1_000_000
"""The largest batch and sequence that the inputs take."""
OUTPUTS = ("max_batch_size", "max_batch_size_tight", "max_sequence_length", "max_sequence_length_tight")

Needs = Callable[[int, int], tuple[float, float]]
"""(batch, sequence) -> bytes allocated and reserved, the workspaces left out."""


def needs_of(job: Job, shared: Mapping[str, float]) -> Needs:
    """What a job needs at other batches and sequences, each computed once; `shared` are the quantities that both accountings share."""
    step = ledger.step_of(job, shared)

    @cache
    def needs(batch: int, sequence: int) -> tuple[float, float]:
        other = replace(step, tokens=batch * sequence, sequence=sequence, several=batch > 1)
        found = ledger.of_step(other, job, shared)
        return found["traced_peak_bytes"], found["traced_reserve_bytes"]

    return needs


def largest(fits: Callable[[int], bool], least: int) -> int:
    """The largest whole number from `least` to MOST that fits, given that below one that fits all do; `least` - 1 if none does."""
    low, high = least - 1, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def largest_batch(fits: Callable[[int], bool]) -> int:
    """The same from 2, where there is one; else 1 or 0."""
    found = largest(fits, 2)
    return found if found >= 2 else int(fits(1))


def maxima(job: object, needs: Needs, place: Place) -> dict[str, int]:
    """`max_batch_size` and `max_sequence_length` of a job on a card."""
    return {
        "max_batch_size": largest_batch(lambda batch: place.fits(needs(batch, job.sequence_length)[1])),
        "max_sequence_length": largest(lambda sequence: place.fits(needs(job.batch_size, sequence)[1]), 1),
    }


def tight_maxima(job: object, needs: Needs, place: Place) -> dict[str, int]:
    """`max_batch_size_tight` and `max_sequence_length_tight`."""
    return {
        "max_batch_size_tight": largest_batch(lambda batch: place.is_enough(needs(batch, job.sequence_length)[0])),
        "max_sequence_length_tight": largest(lambda sequence: place.is_enough(needs(job.batch_size, sequence)[0]), 1),
    }


def beside(found: Mapping[str, object], job: object | Refusal, needs_of_job: Callable[[object], Needs]) -> dict[str, object]:
    """An estimate and the four largest: None where an input is wrong, a text where the job has no total."""
    if isinstance(job, Refusal):
        return {**found, **dict.fromkeys(OUTPUTS)}
    if not job.modelled:
        return {**found, **dict.fromkeys(OUTPUTS, ledger_total.NO_FIGURE)}
    return {**found, **quantities(job, needs_of_job(job))}


def quantities(job: object, needs: Needs) -> dict[str, int]:
    """All four, of a valid job on its own card."""
    place = place_of(job)
    found = maxima(job, needs, place) | tight_maxima(job, needs, place)
    return {name: found[name] for name in OUTPUTS}
