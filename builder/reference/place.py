"""A card as a job finds it: its capacity less what is taken already, and what a job takes there. Units: bytes, GB (10^9 bytes).

    total = reserved + workspaces + context + memory already in use; with expandable segments in whole pages of 2 MiB
    room  = what may be reserved, the workspaces left out, so that the total is within the capacity

What a job reserves without the workspaces does not depend on the card.
Source: this project's public interface; PyTorch c10/cuda/CUDACachingAllocator.cpp (pages); the context is the card's preset.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from builder.reference.card import capacity_gb
from builder.reference.ledger_peak import MIB, workspace_bytes
from builder.reference.ledger_band import PAGE_BYTES, pages

GB = 10**9


@dataclass(frozen=True)
class Place:
    """`context` and `workspace` in bytes, `used_gb` (memory already in use) and `capacity_gb` in GB."""

    context: float
    workspace: float
    used_gb: float
    capacity_gb: float
    expandable: bool

    def total_gb(self, bytes_: float) -> float:
        """All that is taken, with so many bytes by the job, workspaces included."""
        return (bytes_ + self.context) / GB + self.used_gb

    def size_gb(self, reserve: float) -> float:
        """The total of a job that reserves so much without the workspaces."""
        return self.total_gb(pages(reserve + self.workspace) if self.expandable else reserve + self.workspace)

    def headroom_gb(self, reserve: float) -> float:
        """What a job that reserves so much, without the workspaces, leaves; negative where it does not fit."""
        return self.capacity_gb - self.size_gb(reserve)

    def fits(self, reserve: float) -> bool:
        return self.size_gb(reserve) <= self.capacity_gb

    def is_enough(self, peak: float) -> bool:
        """Whether a job that allocates so much without the workspaces fits where the allocator wastes nothing."""
        return self.total_gb(peak + self.workspace) <= self.capacity_gb

    @property
    def free_bytes(self) -> float:
        return (self.capacity_gb - self.used_gb) * GB - self.context

    @property
    def room_bytes(self) -> float:
        """For what is reserved, the workspaces left out."""
        free = self.free_bytes
        if self.expandable:  # what GB round off is far below a thousandth of a byte
            free = floor(round(free, 3) / PAGE_BYTES) * PAGE_BYTES
        return free - self.workspace

    @property
    def tight_room_bytes(self) -> float:
        """For what is allocated, the workspaces left out."""
        return self.free_bytes - self.workspace


def place_of(job: object) -> Place:
    """The card of a job, or what the user says of its capacity."""
    card, override = job.card, job.gpu_capacity_override_gb
    return Place(
        context=card.context.mib * MIB,
        workspace=workspace_bytes(card.compute_capability),
        used_gb=job.memory_already_used_gb,
        capacity_gb=capacity_gb(card.memory.usable_mib, GB) if override is None else override,
        expandable=job.expandable,
    )
