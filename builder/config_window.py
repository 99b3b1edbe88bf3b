"""Which layers of a model attend to a window of tokens only, from its config.json."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builder.config_file import MISSING, ConfigFile
from builder.schema import Family
from builder.validate import shown

FULL, SLIDING = "full_attention", "sliding_attention"


def window(part: ConfigFile, family: Family, layers: int, optional: Callable[[str], Any]) -> tuple[int | None, int]:
    """The window in tokens, and that every n-th layer attends to all: 1 every layer, 0 none.

    `optional` gives a fact of the file or None. Raises UsageError where which layers slide is no such pattern.
    """
    kind = family.config_json.window
    types = _types(part, layers)
    size, used = optional("sliding_window"), optional("window_used")
    if kind == "none" or size is None or used is False:
        if types and SLIDING in types:
            why = f"family {shown(family.name)} has no window" if kind == "none" else "no window is set"
            raise part.problem(f"layer_types: some layers slide, but {why}", "layer_types")
        return None, 1
    if kind == "every layer":
        if types and FULL in types:
            raise part.problem(f"layer_types: some layers do not slide, but every layer of family '{family.name}' does", "layer_types")
        return size, 0
    if types is None:
        if kind == "every n-th layer full":
            every = optional("full_attention_every")
            return (None, 1) if every == 1 else (size, every)  # the class's own pattern, also where it is longer than the model
        full = min(optional("full_layers"), layers)
        types = [FULL] * full + [SLIDING] * (layers - full)
    for every in (1, 0, *range(2, layers + 1)):
        if types == [FULL if every and not (layer + 1) % every else SLIDING for layer in range(layers)]:
            return (None, 1) if every == 1 else (size, every)
    slides = [layer for layer, name in enumerate(types) if name == SLIDING]
    key = "layer_types" if part.get("layer_types") is not MISSING else "max_window_layers"
    raise part.problem(f"{key}: {len(slides)} of {layers} layers slide, from layer {slides[0]} on; a preset knows all, none, or all but every n-th", key)


def _types(part: ConfigFile, layers: int) -> list[str] | None:
    """The file's list of layer types, checked; None where it has none."""
    types = part.get("layer_types")
    if types in (MISSING, None):
        return None
    if not isinstance(types, list) or len(types) != layers:
        raise part.problem(f"layer_types: expected a list of {layers} layers", "layer_types")
    for name in types:
        if name not in (FULL, SLIDING):
            raise part.problem(f"layer_types: {shown(name)} is not {FULL} or {SLIDING}", "layer_types")
    return types
