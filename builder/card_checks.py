"""Checks of cards that go beyond one field: capacities against the size as sold and against each other, bandwidth, BF16."""
from __future__ import annotations

from builder.card_schema import CardFile
from builder.strict_yaml import Document, KeyPath

MIB_PER_GIB = 1024
# Cards are sold by the GiB although they say GB. What is usable is less by the driver's part, and by a sixteenth where ECC
# takes it; every shipped card is within 0.90 and 1.00. A machine with unified memory lends about two thirds of it to its GPU.
USABLE_SHARE, UNIFIED_SHARE = (0.85, 1.07), (0.6, 0.8)
# ECC on GDDR6 takes one sixteenth of the memory; the driver's part, which does not shrink with it, makes it a little more.
ECC_SHARE = (0.925, 0.945)
BANDWIDTH_GB_S = (10, 20_000)
# NVIDIA's generations from Ampere on compute in BF16.
FIRST_WITH_BF16 = 8.0


def card(document: Document, found: CardFile) -> None:
    """Every figure of the card goes with the others."""
    usable(document, found)
    other_ecc(document, found)
    windows(document, found)
    bandwidth(document, found)
    native_bf16(document, found)


def usable(document: Document, found: CardFile) -> None:
    """What is usable is about what the card is sold with."""
    share = UNIFIED_SHARE if found.segment == "unified" else USABLE_SHARE
    low, high = (part * found.memory.marketing_gb * MIB_PER_GIB for part in share)
    if not low <= found.memory.usable_mib <= high:
        raise document.problem(("memory", "usable_mib"), f"usable_mib: {found.memory.usable_mib} does not go with marketing_gb {found.memory.marketing_gb}; "
                               f"expected {low:.0f} to {high:.0f}")


def other_ecc(document: Document, found: CardFile) -> None:
    """With ECC on a process has about a sixteenth less than with ECC off."""
    if (other := found.memory.other_ecc) is None:
        return
    least, most = ECC_SHARE if other.state == "ECC on" else (1 / ECC_SHARE[1], 1 / ECC_SHARE[0])
    low, high = least * found.memory.usable_mib, most * found.memory.usable_mib
    if not low <= other.usable_mib <= high:
        raise document.problem(("memory", "other_ecc", "usable_mib"), f"usable_mib: {other.usable_mib} with {other.state} does not go with "
                               f"{found.memory.usable_mib} in the other state; expected {low:.0f} to {high:.0f}, a sixteenth {'less' if most < 1 else 'more'}")


def windows(document: Document, found: CardFile) -> None:
    """Windows shows no less than Linux, and no more than the card has."""
    if (shown := found.memory.windows) is not None:
        _within(document, ("memory", "windows", "shown_mib"), shown.shown_mib, found.memory.usable_mib, found.memory.marketing_gb * MIB_PER_GIB)


def bandwidth(document: Document, found: CardFile) -> None:
    """A bandwidth is in GB/s, not in Gbit/s of a pin or in TB/s."""
    if found.bandwidth is not None:
        _within(document, ("bandwidth", "gb_s"), found.bandwidth.gb_s, *BANDWIDTH_GB_S)


def native_bf16(document: Document, found: CardFile) -> None:
    """An NVIDIA card has a compute capability, and native BF16 from Ampere on."""
    if found.vendor != "NVIDIA":
        return
    if found.compute_capability is None:
        raise document.problem(("compute_capability",), "compute_capability: null, but an NVIDIA card has one, such as '8.9'")
    expected = float(found.compute_capability) >= FIRST_WITH_BF16
    if found.native_bf16 != expected:
        raise document.problem(("native_bf16",), f"native_bf16: {str(found.native_bf16).lower()}, but compute capability {found.compute_capability} "
                               f"{'has' if expected else 'lacks'} it; expected {str(expected).lower()}")


def _within(document: Document, keys: KeyPath, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise document.problem(keys, f"{keys[-1]}: {value} is out of bounds; expected {low:,.0f} to {high:,.0f}")
