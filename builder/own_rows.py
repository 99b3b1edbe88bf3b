"""Models and cards that a user typed into the free rows of a workbook, as presets, so that the reference knows them too."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date

from pydantic import ValidationError

from builder.engines.workbook_file import WorkbookFile
from builder.presets import Presets
from builder.schema import DIMENSIONS, CardPreset, Context, Memory, ModelPreset, Parameters, Shape

OWN = {"source": "typed by the user", "date": date.min}
FLAGS = {"tied_embeddings", "qkv_bias", "o_bias", "mlp_bias"}


def with_own_rows(presets: Presets, file: WorkbookFile) -> Presets:
    """The presets, and after them every complete row of the workbook that has a name of its own; incomplete rows are left out."""
    models, cards = list(presets.models), list(presets.cards)
    for row in _rows(file, "model", {model.name for model in models}):
        models += _model(presets, row)
    for row in _rows(file, "card", {card.name for card in cards}):
        cards += _card(row)
    return replace(presets, models=tuple(models), cards=tuple(cards))


def _rows(file: WorkbookFile, prefix: str, taken: set[str]) -> Iterator[Mapping[str, object]]:
    """Typed cells of each row of a table whose name is new, by column name without the prefix."""
    columns = {name.removeprefix(f"{prefix}_"): cells for name, cells in file.columns.items() if name.startswith(f"{prefix}_")}
    seen = {name.casefold() for name in taken}
    for index, cell in enumerate(columns.get("name", ())):
        name = file.constants.get(cell)
        if isinstance(name, str) and name.casefold() not in seen and not set(name) & set("*?~"):
            seen.add(name.casefold())
            yield {key: file.constants.get(cells[index]) for key, cells in columns.items() if len(cells) == len(columns["name"])}


def _model(presets: Presets, row: Mapping[str, object]) -> list[ModelPreset]:
    family = next((slug for slug, family in presets.families.items() if family.name == row["family"]), None)
    if family is None or not all(row[flag] in ("Yes", "No") for flag in FLAGS):
        return []
    try:
        shape = Shape(**{name: _whole(row[name]) for name in DIMENSIONS}, **{flag: row[flag] == "Yes" for flag in FLAGS}, **OWN)
        parameters = Parameters(value=_whole(row["parameters"]), published=False, **OWN)
    except ValidationError:
        return []
    if shape.heads % shape.kv_heads:
        return []
    return [ModelPreset.model_construct(
        name=row["name"], slug="", family=family, family_name=row["family"], hub_id="", shape=shape, parameters=parameters, notes=None)]


def _card(row: Mapping[str, object]) -> list[CardPreset]:
    usable, context = row["memory_mib"], row["context_mib"]
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 for value in (usable, context)):
        return []
    memory = Memory.model_construct(usable_mib=usable, estimate=row["estimate"] == "Yes", **OWN)
    return [CardPreset.model_construct(name=row["name"], slug="", memory=memory, context=Context.model_construct(mib=context, **OWN), notes=None)]


def _whole(value: object) -> object:
    """A number without fraction as an int, as the presets hold it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
