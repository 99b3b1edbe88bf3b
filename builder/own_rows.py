"""Models and cards that a user typed into the free rows of a workbook, as presets, so that the reference knows them too."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date

from pydantic import ValidationError

from builder.card_schema import CardPreset, Context, Memory, OtherEcc, Windows
from builder.engines.session import ErrorValue
from builder.engines.workbook_file import Cell, WorkbookFile
from builder.presets import Presets
from builder.schema import DIMENSIONS, Family, ModelPreset, Parameters, Shape

OWN = {"source": "typed by the user", "date": date.min}
OPTIONAL = ("learned_positions", "experts", "experts_per_token")
FLAGS = {"tied_embeddings", "qkv_bias", "o_bias", "mlp_bias"}


def with_own_rows(presets: Presets, file: WorkbookFile, values: Mapping[Cell, object]) -> Presets:
    """The presets, and after them every complete row of the workbook that has a name of its own; incomplete rows are left out.

    `values` gives what each cell shows: a row may hold formulas.
    """
    models, cards = list(presets.models), list(presets.cards)
    limits = {spec.name: spec.maximum for spec in presets.inputs}
    for row in _rows(file, values, "model", {model.name for model in models}):
        models += _model(presets, row, limits)
    for row in _rows(file, values, "card", {card.name for card in cards}):
        cards += _card(row, limits["gpu_capacity_override_gb"] * 1e9 / 2**20)
    return replace(presets, models=tuple(models), cards=tuple(cards))


def _rows(file: WorkbookFile, values: Mapping[Cell, object], prefix: str, taken: set[str]) -> Iterator[Mapping[str, object]]:
    """Typed cells of each row of a table whose name is new, by column name without the prefix."""
    columns = {name.removeprefix(f"{prefix}_"): cells for name, cells in file.columns.items() if name.startswith(f"{prefix}_")}
    seen = {name.casefold() for name in taken}
    for index, cell in enumerate(columns.get("name", ())):
        name = values.get(cell)
        if not isinstance(name, str) or isinstance(name, ErrorValue) or name.casefold() in seen:
            continue
        seen.add(name.casefold())
        if name and not set(name) & set("*?~\u00a0") and " " not in (name[0], name[-1]):
            yield {key: values.get(cells[index]) for key, cells in columns.items() if len(cells) == len(columns["name"])}


def _model(presets: Presets, row: Mapping[str, object], limits: Mapping[str, float]) -> list[ModelPreset]:
    family = next((slug for slug, family in presets.families.items() if family.name == row["family"]), None)
    if family is None or not all(row[flag] in ("Yes", "No") for flag in FLAGS):
        return []
    try:
        shape = Shape(**{name: _whole(row[name]) for name in DIMENSIONS}, **{flag: row[flag] == "Yes" for flag in FLAGS},
                      **{name: None if row[name] == "" else _whole(row[name]) for name in OPTIONAL}, **OWN)
        parameters = Parameters(value=_whole(row["parameters"]), published=False, **OWN)
    except ValidationError:
        return []
    beyond = any(row[name] > limits[f"{name}_override"] for name in (*DIMENSIONS, "parameters"))
    if beyond or shape.heads % shape.kv_heads or not _goes_with(shape, presets.families[family], limits["hidden_size_override"]):
        return []
    attention = _attention(row, limits["hidden_size_override"])
    if attention is None:
        return []
    return [ModelPreset.model_construct(
        name=row["name"], slug="", family=family, family_name=row["family"], hub_id="", shape=shape, parameters=parameters, notes=None, **attention)]


def _goes_with(shape: Shape, family: Family, largest: float) -> bool:
    """Experts and learned positions where the family has them, and only there."""
    given = [getattr(shape, name) for name in OPTIONAL]
    return (
        all(value is None or value <= largest for value in given)
        and (shape.learned_positions is not None) == family.learned_positions
        and all((value is not None) == family.experts for value in (shape.experts, shape.experts_per_token))
        and (shape.experts_per_token or 0) <= (shape.experts or 0)
    )


def _attention(row: Mapping[str, object], largest: float) -> dict[str, object] | None:
    """Sliding window, full attention every so many layers, and rotary share; None where they are wrong or do not go together."""
    window, every, share = (None if row[name] == "" else _whole(row[name]) for name in ("sliding_window", "full_attention_every", "rotary_share"))
    every, share = 1 if every is None else every, 1 if share is None else share
    right = (
        (window is None or (type(window) is int and 1 <= window <= largest))
        and type(every) is int and 0 <= every <= largest and (window is None) == (every == 1)
        and type(share) in (int, float) and 0 < share <= 1
    )
    return {"sliding_window": window, "full_attention_every": every, "rotary_share": share} if right else None


def _card(row: Mapping[str, object], largest_mib: float) -> list[CardPreset]:
    usable, context = row["memory_mib"], row["context_mib"]
    if not all(_number(value) and 0 < value <= largest_mib for value in (usable, context)):
        return []
    if any(row[flag] not in (None, "Yes", "No") for flag in ("estimate", "native_bf16")):
        return []
    other, shown = _positive(row["other_ecc_mib"]), _positive(row["windows_mib"])
    memory = Memory.model_construct(
        usable_mib=usable, estimate=row["estimate"] == "Yes", **OWN,
        other_ecc=OtherEcc.model_construct(state=row["other_ecc"], usable_mib=other, estimate=row["other_ecc_estimate"] == "Yes", **OWN)
        if other and row["other_ecc"] in ("ECC on", "ECC off") else None,
        windows=Windows.model_construct(shown_mib=shown, **OWN) if shown else None)
    capability = row["compute_capability"]  # a text or a number; blank is not Hopper
    return [CardPreset.model_construct(name=row["name"], slug="", memory=memory, context=Context.model_construct(mib=context, **OWN),
                                       compute_capability=None if capability is None else str(capability), native_bf16=row["native_bf16"] != "No", notes=None)]


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _positive(value: object) -> float | None:
    """A number above 0; None for anything else, which shows no note."""
    return value if _number(value) and value > 0 else None


def _whole(value: object) -> object:
    """A number without fraction as an int, as the presets hold it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
