"""What to know of the card beside the answer: no native BF16, the other setting of ECC, and Windows.

    a job uses BF16 where its base or its adapters are held in it, or autocast computes in it
    ECC takes a sixteenth of GDDR6; the preset is for one setting, and some presets know the other
    Windows shows nearly the whole card, and the desktop takes part of it

A capacity that the user typed stands for whatever the card has, so the last two are silent then. Units: GB of 10^9 bytes.

Source: each card's preset; the texts are constants of the presets.
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.card import capacity_gb
from builder.reference.shown import number

TEXTS = ("note_bf16", "note_ecc", "note_windows")


def quantities(job: object, bytes_per_gb: float) -> dict[str, float]:
    """`bf16_used` (0 or 1), and `other_ecc_gb` and `windows_gb`, 0 where they are not known."""
    other, windows = job.card.memory.other_ecc, job.card.memory.windows
    return {
        "bf16_used": int(job.uses_bf16),
        "other_ecc_gb": capacity_gb(other.usable_mib, bytes_per_gb) if other else 0,
        "windows_gb": capacity_gb(windows.shown_mib, bytes_per_gb) if windows else 0,
    }


def notes(job: object, found: Mapping[str, float], texts: Mapping[str, str]) -> str:
    """The notes that apply, one after the other; `found` are the quantities above."""
    said = []
    if found["bf16_used"] and not job.card.native_bf16:
        said.append(texts["note_bf16"])
    if job.gpu_capacity_override_gb is None:
        if other := job.card.memory.other_ecc:
            sure = " (estimate)" if other.estimate else ""
            said.append(f"With {other.state} this card has {number(found['other_ecc_gb'], 2)} GB{sure}: {texts['note_ecc']}")
        if job.card.memory.windows:
            said.append(f"On Windows PyTorch shows {number(found['windows_gb'], 2)} GB: {texts['note_windows']}")
    return "".join(f"{note} " for note in said)
