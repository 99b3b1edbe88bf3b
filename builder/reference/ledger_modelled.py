"""Ledger: whether the activations of a job are modelled, and whether autocast is on.

Source: presets/families: families whose steps were traced (tests/tracer).
"""

from __future__ import annotations


def quantities(modelled: bool, autocast: bool) -> dict[str, int]:
    """`activations_modelled` and `autocast_on`, 0 or 1."""
    return {"activations_modelled": int(modelled), "autocast_on": int(autocast)}
