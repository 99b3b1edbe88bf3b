"""A card as a server finds it: the share that it may use, and what the job takes there. Units: bytes, GB (10^9 bytes).

    budget = the smaller of memory fraction x capacity and capacity - memory already in use - context, in whole bytes
    room   = budget - workspace: for weights, KV cache, activations and logits
    total  = those + workspace + context + memory already in use
    workspace = that of cuBLAS, and the CUDA graphs that the user states: vLLM takes them off its share from v0.21 on

The context is outside the budget: vLLM takes off its fraction what it allocates itself, and its logs show 0.02 to 0.35 GiB beside PyTorch's
own, less than a context. Source: vLLM gpu_worker.determine_available_memory and MemoryProfilingResult; this project's public interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from builder.reference.card import capacity_gb
from builder.reference.inference_job import InferenceJob

GB, MIB = 10**9, 1 << 20


@dataclass(frozen=True)
class ServerPlace:
    """`context` and `workspace` in bytes, `used_gb` (memory already in use) and `capacity_gb` in GB, `fraction` of the capacity."""

    context: float
    workspace: float
    used_gb: float
    capacity_gb: float
    fraction: float

    @property
    def free_bytes(self) -> float:
        """Capacity less context and memory already in use."""
        return (self.capacity_gb - self.used_gb) * GB - self.context

    @property
    def budget_bytes(self) -> float:
        """In whole bytes: what GB round off is far below half of one."""
        return floor(min(self.fraction * self.capacity_gb * GB, self.free_bytes) + 0.5)

    @property
    def room_bytes(self) -> float:
        return self.budget_bytes - self.workspace

    @property
    def tight_room_bytes(self) -> float:
        """The same: a server that has room for one sequence runs, and the others wait."""
        return self.room_bytes

    def size_gb(self, need: float) -> float:
        """The total of a job that needs so much, the workspace left out."""
        return (need + self.workspace + self.context) / GB + self.used_gb

    def headroom_gb(self, need: float) -> float:
        """What such a job leaves of the budget."""
        return (self.room_bytes - need) / GB

    def fits(self, need: float) -> bool:
        return need <= self.room_bytes

    def is_enough(self, need: float) -> bool:
        return self.fits(need)


def workspace_bytes(compute_capability: str | None, graphs_gb: float) -> float:
    """The cuBLAS workspace of the one thread that runs the model, and CUDA graphs."""
    major = str(compute_capability or "").split(".")[0]
    return (32 if major == "9" else 8.125) * MIB + graphs_gb * GB


def place_of(job: InferenceJob) -> ServerPlace:
    """The card of a job, or what the user says of its capacity."""
    card, override = job.card, job.gpu_capacity_override_gb
    return ServerPlace(
        context=card.context.mib * MIB,
        workspace=workspace_bytes(card.compute_capability, job.cuda_graphs_gb),
        used_gb=job.memory_already_used_gb,
        capacity_gb=capacity_gb(card.memory.usable_mib, GB) if override is None else override,
        fraction=job.memory_fraction,
    )
