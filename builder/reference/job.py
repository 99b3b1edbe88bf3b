"""A job whose every input was found valid: what every book's kind of job has in common."""

from __future__ import annotations

from dataclasses import fields
from typing import Mapping, TypeVar

from builder.reference import shape as shapes

Kind = TypeVar("Kind")


def job_of(kind: type[Kind], values: Mapping[str, object], model: object, family: object, card: object, **derived: object) -> Kind:
    """The job of valid input values by public name (None = blank) and of the presets that they name.

    A field with the name of an input has its value, `derived` are those that need more than that; memory already used, left blank, is none.
    """
    derived |= {
        "model": model,
        "family": family,
        "card": card,
        "shape": shapes.used(model.shape, {dimension: values[f"{dimension}_override"] for dimension in shapes.DIMENSIONS}),
        "memory_already_used_gb": values["memory_already_used_gb"] or 0,
    }
    same = {field.name: values[field.name] for field in fields(kind) if field.name not in derived}
    return kind(**same, **derived)
