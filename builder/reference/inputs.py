"""From what was typed to a valid job, or to the messages that say which inputs are wrong.

A typed value is blank (None or an empty text), a number (not a bool), a text, or something else, which is never valid.

    choice, model, card   valid when the text equals an offered name exactly: whole, case and spaces included
    whole                 valid when it is a number without fraction within its bounds
    number                valid when it is a number within its bounds
    blank                 valid only where the input's specification says that blank has a meaning

A bound that is itself unavailable (the layers of an unknown model) bounds nothing, and a rule over several inputs, which
come after the inputs, holds when what it compares is unavailable: the input that is wrong has its own message.

Source of names, bounds, defaults and messages: the presets' input specifications.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Iterable, Mapping

from builder.errors import UsageError, nearest
from builder.presets import Presets
from builder.reference.adapters import CUSTOM, PROJECTIONS, adapted, targeted

JOBS = "builder.reference.{book}_job"
"""The module with a book's kind of job."""
UNAVAILABLE = object()
"""Stands for a value that an invalid input leaves unknown. None cannot: it is a valid blank."""


@dataclass(frozen=True)
class Refusal:
    """The messages of every invalid input and broken rule, in the order of the sheet; never empty."""

    messages: tuple[str, ...]

    @property
    def input_message(self) -> str:
        """The first message, and how many more there are."""
        others = len(self.messages) - 1
        return self.messages[0] + (f" (and {others} more)" if others else "")


def read(presets: Presets, typed: Mapping[str, object]) -> object | Refusal:
    """The job that `typed` describes, by public input name; an absent name has its default, None is blank. Each book has its own kind.

    Raises UsageError when a name is not an input.
    """
    names = [spec.name for spec in presets.inputs]
    for name in typed:
        if name not in names:
            raise UsageError(f"there is no input {name!r}{nearest(name, names)}")

    cells = {spec.name: typed.get(spec.name, spec.default) for spec in presets.inputs}
    values = checked_values(presets, {name: None if cell == "" else cell for name, cell in cells.items()})
    broken = [spec.message for spec in presets.inputs if values[spec.name] is UNAVAILABLE]
    broken += [rule.message for rule in presets.rules if not RULES[rule.name](presets, values)]
    if broken:
        return Refusal(tuple(broken))
    model = by_name(presets.models)[values["base_model"]]
    job_of = import_module(JOBS.format(book=presets.book)).job_of
    return job_of(values, model, presets.families[model.family], by_name(presets.cards)[values["gpu_card"]])


def checked_values(presets: Presets, cells: Mapping[str, object]) -> dict[str, object]:
    """Every input's value, or UNAVAILABLE where it is invalid. Inputs bound by a dimension come last: they need it."""
    values: dict[str, object] = {}
    for spec in sorted(presets.inputs, key=lambda spec: spec.maximum_name is not None):
        cell = cells[spec.name]
        maximum = spec.maximum
        if spec.maximum_name is not None and cell is not None:
            maximum = dimension_used(presets, values, spec.maximum_name)
        valid = is_valid(spec, cell, offered_names(presets, spec), maximum)
        values[spec.name] = cell if valid else UNAVAILABLE
    return values


def is_valid(spec: object, cell: object, offered: Iterable[str], maximum: object) -> bool:
    """Whether a cell (None = blank) satisfies an input's specification; `maximum` is its upper bound as it stands."""
    if cell is None:
        return spec.blank == "allowed"
    if spec.kind in ("choice", "model", "card"):
        return isinstance(cell, str) and cell in offered
    if not is_number(cell):
        return False
    if spec.kind == "whole" and cell % 1 != 0:
        return False
    return (
        (spec.minimum is None or cell >= spec.minimum)
        and (maximum is None or maximum is UNAVAILABLE or cell <= maximum)
        and (spec.exclusive_minimum is None or cell > spec.exclusive_minimum)
        and (spec.exclusive_maximum is None or cell < spec.exclusive_maximum)
    )


def is_number(cell: object) -> bool:
    """True for an int or a float that a spreadsheet cell can hold: finite, and not a bool."""
    return isinstance(cell, (int, float)) and not isinstance(cell, bool) and abs(cell) <= sys.float_info.max


def offered_names(presets: Presets, spec: object) -> tuple[str, ...]:
    """The texts that a dropdown offers; none for a number."""
    if spec.kind == "model":
        return tuple(by_name(presets.models))
    if spec.kind == "card":
        return tuple(by_name(presets.cards))
    return tuple(choice.name for choice in spec.choices or ())


def by_name(items: Iterable[object]) -> dict[str, object]:
    """Models or cards by the name that the dropdown shows."""
    return {item.name: item for item in items}


def dimension_used(presets: Presets, values: Mapping[str, object], dimension: str) -> object:
    """A dimension of the shape as used: the override, or the preset's where it is blank; else UNAVAILABLE."""
    override = values[f"{dimension}_override"]
    if override is not None:
        return override
    if values["base_model"] is UNAVAILABLE:
        return UNAVAILABLE
    return getattr(by_name(presets.models)[values["base_model"]].shape, dimension)


def heads_divide(presets: Presets, values: Mapping[str, object]) -> bool:
    """Whether the attention heads used are a whole multiple of the KV heads used."""
    heads = dimension_used(presets, values, "heads")
    kv_heads = dimension_used(presets, values, "kv_heads")
    return UNAVAILABLE in (heads, kv_heads) or heads % kv_heads == 0


def custom_targets(presets: Presets, values: Mapping[str, object]) -> bool:
    """Whether some projection that the model has is targeted. The seven switches are looked at only when the targets are Custom."""
    switches = {projection: values[f"target_{projection}"] for projection in PROJECTIONS}
    if values["lora_targets"] != CUSTOM or UNAVAILABLE in (*switches.values(), values["base_model"]):
        return True
    family = presets.families[by_name(presets.models)[values["base_model"]].family]
    return bool(adapted(targeted(CUSTOM, {projection: switch == "Yes" for projection, switch in switches.items()}), family))


def training_recipe(presets: Presets, values: Mapping[str, object]) -> bool:
    """Whether weights stored in BF16 go without autocast."""
    return (values["storage_precision"], values["compute_precision"]) != ("BF16", "BF16 mixed precision")


def encoder_shape(presets: Presets, values: Mapping[str, object]) -> bool:
    """Whether the article's encoder has heads x head dimension = hidden size, and as many KV heads as heads."""
    used = {name: dimension_used(presets, values, name) for name in ("hidden_size", "heads", "kv_heads", "head_dim")}
    if UNAVAILABLE in (*used.values(), values["base_model"]):
        return True
    family = presets.families[by_name(presets.models)[values["base_model"]].family]
    return not family.sinusoidal_positions or (used["heads"] * used["head_dim"] == used["hidden_size"] and used["kv_heads"] == used["heads"])


RULES = {"heads_divide": heads_divide, "custom_targets": custom_targets, "training_recipe": training_recipe, "encoder_shape": encoder_shape}
"""What each rule of the presets compares."""
