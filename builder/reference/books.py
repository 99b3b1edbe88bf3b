"""The reference of each book: what it gives, by the book that the presets were loaded for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Mapping

from builder.presets import Presets

def reference(book: str) -> ModuleType:
    """The module with PUBLIC_OUTPUTS, ESTIMATE_OUTPUTS, `estimate`, `outputs`, `decisions` and `quantity_names` of a book."""
    return import_module(f"builder.reference.{book}_book")


def public_outputs(book: str) -> tuple[str, ...]:
    """Every output that users rely on, in the order in which the command line prints them."""
    return reference(book).PUBLIC_OUTPUTS


def estimate_outputs(book: str) -> tuple[str, ...]:
    """Those that `estimate` gives; the largest batch and the like take many estimates."""
    return reference(book).ESTIMATE_OUTPUTS


def estimate(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity by public name, of the job that `typed` describes.

    `typed` maps public input names to what was typed; an absent name has its default and None is blank. A quantity is a number or a
    text; None is unavailable. With an invalid input only the verdict and `input_message` are given.

    Raises UsageError when a name is not an input.
    """
    return reference(presets.book).estimate(presets, typed)


def outputs(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """The same, and the largest jobs that the card holds."""
    return reference(presets.book).outputs(presets, typed)


def decisions(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Of a valid job, everything that the sheets that decide show, by the name of the cell or column; see the book's module."""
    return reference(presets.book).decisions(presets, typed)


def quantity_names(presets: Presets) -> tuple[str, ...]:
    """The names of every quantity, in order: those of the job with every input at its default."""
    return reference(presets.book).quantity_names(presets)
