"""What a config.json of Hugging Face says of a model: its family, its shape and how its checkpoint is stored; or why no preset can hold it.

How the keys are read is data: presets/architectures.yaml, and config_json of each file in presets/families.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from builder.config_file import MISSING, ConfigFile
from builder.config_reader import Reader
from builder.config_schema import Architectures, Checkpoint
from builder.config_window import window
from builder.schema import Family
from builder.validate import shown

# What the names of many classes end with, which makes no two of them alike.
ENDING = re.compile(r"(For[A-Z]\w+|LMHeadModel|Model)$")
LIKE = 0.65  # how alike two names are that one is named in place of the other, of 1


@dataclass(frozen=True)
class Facts:
    """What a preset holds of a model; `assumed` are facts that a text_config leaves out, and transformers' defaults for them."""

    family: str
    architecture: str
    language_model_alone: bool
    shape: Mapping[str, int | bool]
    sliding_window: int | None
    full_attention_every: int
    rotary_share: int | float
    storage: str | None  # how the checkpoint is stored, and which base_storage comes nearest
    assumed: Mapping[str, object]


def facts(config: ConfigFile, families: Mapping[str, Family], common: Architectures) -> Facts:
    """The facts of a config.json.

    Raises UsageError with its place: an architecture that no family describes and what it has beyond them, a key that is missing
    or contradicts the family, a value that cannot be.
    """
    architecture, part, slug = _family_of(config, families, common)
    _refuse_contradictions(part, families[slug], common)
    if part is not config:
        _refuse_signs(config, families[slug], common)
    reader = Reader(config, part, families[slug], common)
    shape = reader.shape()
    size, every = window(part, families[slug], shape["layers"], reader.optional)
    kind = config.get("model_type")
    return Facts(
        family=slug, architecture=architecture, shape=shape,
        language_model_alone=part is not config or isinstance(kind, str) and kind != families[slug].config_json.model_types[0],
        sliding_window=size, full_attention_every=every, rotary_share=reader.share(), storage=_storage(config, part, common), assumed=reader.assumed,
    )


def _family_of(config: ConfigFile, families: Mapping[str, Family], common: Architectures) -> tuple[str, ConfigFile, str]:
    """The architecture's name, the part of the file that describes the language model, and the slug of its family."""
    names, kind = config.get("architectures"), config.get("model_type")
    if names in (MISSING, None, []) and kind in (MISSING, None):
        raise config.problem("the keys 'architectures' and 'model_type' are missing; one of them says which family the model is of")
    name = names[0] if isinstance(names, list) and names else names if isinstance(names, str) else None
    if name is not None and not isinstance(name, str):
        raise config.problem(f"architectures: {shown(name)} is not the name of a class", "architectures")
    by_name = {known: slug for slug, family in families.items() for known in family.architectures}
    by_kind = {known: slug for slug, family in families.items() for known in family.config_json.model_types}
    if name in by_name:
        slug = by_name[name]
        kinds = families[slug].config_json.model_types
        if isinstance(kind, str) and kind not in kinds:
            raise config.problem(f"model_type: '{kind}' contradicts the architecture '{name}', whose model_type is {' or '.join(kinds)}", "model_type")
        return name, config, slug
    part = config.part("text_config") if isinstance(config.get("text_config"), dict) else config
    if part is not config or name is None or name in common.flat_multimodal:
        kind = part.get("model_type")
        slug = by_kind.get(kind) if isinstance(kind, str) else None
        if slug:
            return name or str(config.get("model_type")), part, slug
    _refuse_unknown(part, name, kind, by_name if part is config and name else by_kind, common)


def _refuse_unknown(part: ConfigFile, name: str | None, kind: Any, known: Mapping[str, str], common: Architectures) -> NoReturn:
    """Say which architecture is not described, which one is nearest by name, and what the config has that no family describes."""
    if part.inside and name:
        what, key, asked = f"the language model of '{name}', model_type {shown(kind) if isinstance(kind, str) else 'missing'},", "model_type", kind
    elif name:
        what, key, asked = f"architecture '{name}'", "architectures", name
    else:
        what, key, asked = f"model_type {shown(kind)}", "model_type", kind
    stems = {ENDING.sub("", each): each for each in known}
    near = get_close_matches(ENDING.sub("", str(asked)), stems, n=1, cutoff=LIKE)
    has = [means for ending, means in common.endings.items() if name and name.endswith(ending)]
    for means in dict.fromkeys(common.signs.values()):
        if signs := [sign for sign, its in common.signs.items() if its == means and _set(part.get(sign))]:
            has.append(f"{means} ({', '.join(signs)})")
    raise part.problem(
        f"{what} is not one that the families describe" + (f"; nearest: {stems[near[0]]}" if near else "")
        + (f"; this model has {'; '.join(has)}" if has else "; a new family is one file, see docs/how-to-add.md"), key)


def _set(value: Any) -> bool:
    return value is not MISSING and bool(value)


def _refuse_contradictions(part: ConfigFile, family: Family, common: Architectures) -> None:
    """Keys that say of the layers what the family does not."""
    read = _read(family, common)
    requires = {**{key: allowed for key, allowed in common.requires.items() if key not in read}, **family.config_json.requires}
    for key, allowed in requires.items():
        value = part.get(key)
        if value is MISSING:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (number if allowed == "number" else value in allowed):
            wanted = "a number" if allowed == "number" else " or ".join("null" if one is None else shown(one) for one in allowed)
            raise part.problem(f"{key}: {'null' if value is None else shown(value)}, but family '{family.name}' describes {wanted}", key)
    _refuse_signs(part, family, common)


def _refuse_signs(part: ConfigFile, family: Family, common: Architectures) -> None:
    """Keys that say what no family describes, but for those that this one reads."""
    known = _read(family, common) | {*common.requires, *family.config_json.requires}
    for sign, means in common.signs.items():
        if sign not in known and _set(part.get(sign)):
            raise part.problem(f"{sign}: {shown(part.get(sign))} means {means}, and a config.json of family '{family.name}' has no such key", sign)


def _read(family: Family, common: Architectures) -> set[str]:
    """Every key that some fact of the family is read from."""
    return {key for keys in common.keys_for(family).values() for key in keys}


def _storage(config: ConfigFile, part: ConfigFile, common: Architectures) -> str | None:
    """In which format the checkpoint is stored, where it is quantised, and what that means for base_storage."""
    found = next((place.get("quantization_config") for place in (config, part) if isinstance(place.get("quantization_config"), dict)), None)
    if found is None:
        return None
    method = found.get("quant_method", "bitsandbytes" if found.get("load_in_4bit") or found.get("load_in_8bit") else "an unnamed format")

    def fits(checkpoint: Checkpoint) -> bool:
        return method == checkpoint.method and all(found.get(key) == value for key, value in checkpoint.where.items())

    known = next((checkpoint for checkpoint in common.checkpoints if fits(checkpoint)), None)
    return f"{known.format}: {known.advice}" if known else f"{method}: that is no storage of this workbook"
