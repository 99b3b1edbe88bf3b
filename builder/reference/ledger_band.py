"""Ledger: reserved memory as a band with a middle, under either allocator. Units: bytes.

    default allocator     low, middle and high as its rule gives them
    expandable segments   allocated, in whole pages of 2 MiB; high as under the default allocator where that is more

Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (pages).
"""

from __future__ import annotations

from math import ceil

PAGE_BYTES = 2 << 20
"""Of expandable segments."""


def pages(bytes_: float) -> int:
    """The whole pages that hold so many bytes, in bytes."""
    return ceil(bytes_ / PAGE_BYTES) * PAGE_BYTES


def quantities(values: dict[str, float], expandable: bool) -> dict[str, float]:
    """`traced_reserve_bytes` (without the workspaces), `page_bytes`, and `reserved_low_bytes`, `reserved_bytes`, `reserved_high_bytes`;
    `values` have the peak, the workspaces, and the rule's low, middle and high.
    """
    peak, middle, workspace = values["traced_peak_bytes"], values["default_reserve_bytes"], values["workspace_bytes"]
    in_pages, high = pages(peak + workspace), values["default_high_bytes"]
    return {
        "traced_reserve_bytes": peak if expandable else middle,
        "page_bytes": in_pages,
        "reserved_low_bytes": in_pages if expandable else values["default_low_bytes"],
        "reserved_bytes": in_pages if expandable else middle + workspace,
        "reserved_high_bytes": max(in_pages, high) if expandable else high,
    }
