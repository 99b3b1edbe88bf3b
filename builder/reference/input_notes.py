"""Notes on valid inputs: without effect, no longer going together, or resting on an estimate.

    k-bit preparation acts on INT8 and NF4 bases only
    a shape override does not change the parameter count
    the seven target switches count only under Custom
    the capacity of some cards is an estimate, which an override replaces
    some models have no kernel but eager attention
    a model with a table of positions takes no longer sequence
    PEFT puts no dropout on adapters of experts

Source: this project's public interface; the texts are constants of the presets.
"""

from __future__ import annotations

from typing import Mapping

QUANTISED = {"INT8", "NF4", "NF4 double-quantised"}
TEXTS = ("note_kbit", "note_shape", "note_targets", "note_estimate", "note_eager", "note_positions", "note_experts")


def notes(
    *, kbit_preparation: str, base_storage: str, parameters_differ: bool, lora_targets: str, switched_on: Mapping[str, bool],
    capacity_estimated: bool, kernel_missing: bool, beyond_positions: bool, experts_dropped: bool, texts: Mapping[str, str]
) -> str:
    """The notes that apply, one after the other; an empty text where none does."""
    applying = {
        "note_kbit": kbit_preparation == "Yes" and base_storage not in QUANTISED,
        "note_shape": parameters_differ,
        "note_targets": lora_targets != "Custom" and any(switched_on.values()),
        "note_estimate": capacity_estimated,
        "note_eager": kernel_missing,
        "note_positions": beyond_positions,
        "note_experts": experts_dropped,
    }
    return said(applying, texts)


def said(applying: Mapping[str, bool], texts: Mapping[str, str]) -> str:
    """The notes that apply, in their order, each with a space after it."""
    return "".join(f"{texts[name]} " for name, applies in applying.items() if applies)
