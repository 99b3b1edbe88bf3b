"""The card's capacity: what a process can use, its own CUDA context included.

    gpu_capacity_gb = usable MiB x 1,048,576 / 1,000,000,000, or the user's override

Units: GB of 10^9 bytes; GiB (2^30 bytes) beside it. An "80 GB" card has about 85 GB.

Source: each card's preset (torch's total_memory on Linux where one was found).
"""

from __future__ import annotations

BYTES_PER_MIB = 1024 * 1024
MIB_PER_GIB = 1024


def capacity_gb(usable_mib: float, bytes_per_gb: float) -> float:
    """Capacity of the preset in GB of 10^9 bytes."""
    return usable_mib * BYTES_PER_MIB / bytes_per_gb


def quantities(usable_mib: float, override_gb: float | None, bytes_per_gb: float) -> dict[str, float]:
    """`gpu_capacity_preset_gb`, `gpu_capacity_gb` (the override if there is one) and `gpu_capacity_gib` (the same in GiB)."""
    preset = capacity_gb(usable_mib, bytes_per_gb)
    used = preset if override_gb is None else override_gb
    return {
        "gpu_capacity_preset_gb": preset,
        "gpu_capacity_gb": used,
        "gpu_capacity_gib": used * bytes_per_gb / BYTES_PER_MIB / MIB_PER_GIB,
    }
