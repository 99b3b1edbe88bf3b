"""Article: reserved memory, and the total to size a card against.

    reserved = peak + 1.2 GB, or + 5.2 GB with checkpointing   (allocator overhead, an allowance)
    total    = reserved + 0.6 GB (CUDA context) + memory already used on the card

Units: bytes, from allowances in GB of 10^9 bytes. The 0.6 GB is a preset (article_context_gb).

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20; memory already used is this
project's input, 0 in the article.
"""

from __future__ import annotations

OVERHEAD_GB = 1.2
OVERHEAD_GB_CHECKPOINTING = 5.2


def allocator_overhead_gb(checkpointing: bool) -> float:
    """The article's allowance for what the allocator reserves beyond the peak, GB."""
    return OVERHEAD_GB_CHECKPOINTING if checkpointing else OVERHEAD_GB


def reserved_bytes(peak_bytes: float, overhead_gb: float, bytes_per_gb: float) -> float:
    """Peak of allocated memory and the allocator's overhead."""
    return peak_bytes + overhead_gb * bytes_per_gb


def total_bytes(reserved: float, context_gb: float, already_used_gb: float, bytes_per_gb: float) -> float:
    """Reserved memory, the CUDA context and what is already used on the card."""
    return reserved + (context_gb + already_used_gb) * bytes_per_gb


def quantities(
    *, peak_bytes: float, checkpointing: bool, context_gb: float, already_used_gb: float, bytes_per_gb: float
) -> dict[str, float]:
    """`article_peak_reserved_bytes` and `article_total_bytes`."""
    reserved = reserved_bytes(peak_bytes, allocator_overhead_gb(checkpointing), bytes_per_gb)
    return {
        "article_peak_reserved_bytes": reserved,
        "article_total_bytes": total_bytes(reserved, context_gb, already_used_gb, bytes_per_gb),
    }
