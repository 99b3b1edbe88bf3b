"""`sizing add-model`: from a config.json to a checked preset of the model, its parameters counted from the shape."""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from builder import preset_file
from builder.config_file import ConfigFile, read
from builder.errors import UsageError
from builder.hf_config import Facts, facts
from builder.presets import SLUG, Presets, load
from builder.schema import ModelPreset, Shape

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
NO_HUB = "none (local checkpoint)"


@dataclass(frozen=True)
class Draft:
    """A preset before it is written: its file name, its data, and its parameter count."""

    stem: str
    data: Mapping[str, object]
    parameters: int
    family: str

    @property
    def name(self) -> str:
        """The name that the dropdown shows."""
        return str(self.data["name"])


def add_model(root: Path, config: Path, options: Mapping[str, object]) -> tuple[Path, Draft, Presets]:
    """Write the preset of a config.json (or of the folder that holds one) to `<root>/models`; its path, itself, and all presets.

    `options` are name, slug, hub_id, source, date (of the source), published (parameters), published_source and difference; None
    where not given. Raises UsageError about the config, an option or a name that is taken, and PresetError about the presets;
    then no file is left behind.
    """
    made = draft(read(config), load(root), options)
    presets = preset_file.add(root, "models", made.name, made.stem, preset_file.text(made.data))
    return root / "models" / f"{made.stem}.yaml", made, presets


def draft(config: ConfigFile, presets: Presets, options: Mapping[str, object]) -> Draft:
    """The preset that a config.json makes, with the options of `add_model`."""
    given = {key: value for key, value in options.items() if value is not None}
    found = facts(config, presets.families, presets.architectures)
    hub_id = given.get("hub_id") or _hub_id(config)
    name = given.get("name") or _readable((hub_id or _folder(config)).rpartition("/")[2], found)
    day = preset_file.day(given.get("date"))
    shape = {**found.shape, "source": given.get("source") or f"config.json of {hub_id or name}", "date": day}
    family = presets.families[found.family]
    counted = ModelPreset.model_construct(shape=Shape.model_construct(**shape)).parameters_from_shape(family)
    data: dict[str, object] = {"name": name, "family": found.family, "hub_id": hub_id or NO_HUB, "shape": shape, "parameters": _parameters(counted, given, day)}
    if found.sliding_window is not None:
        data |= {"sliding_window": found.sliding_window, "full_attention_every": found.full_attention_every}
    if found.rotary_share != 1:
        data["rotary_share"] = found.rotary_share
    if notes := _notes(found):
        data["notes"] = notes
    stem = given.get("slug") or preset_file.slug(name)
    if not SLUG.fullmatch(stem):
        raise UsageError(f"'{stem}' is not a file name of lower-case letters, digits, dots and hyphens; give one with --slug")
    return Draft(stem, data, counted, found.family)


def _parameters(counted: int, given: Mapping[str, object], day: date) -> dict[str, object]:
    """The count of the shape, as the published one, as another than the published one and why, or as no one's."""
    published, source, difference = given.get("published"), given.get("published_source"), given.get("difference")
    if (published is None) != (source is None):
        raise UsageError("--published and --published-source go together: how many parameters were published, and where")
    if published is None:
        return {"value": counted, "published": False, "source": "counted from the shape", "date": day}
    if published == counted:
        return {"value": counted, "source": source, "date": day}
    if difference is None:
        raise UsageError(f"--published {published}: the shape gives {counted}, a difference of {published - counted:+}; say why with --difference, or check both")
    return {"value": counted, "published_value": published, "difference": difference, "source": source, "date": day}


def _notes(found: Facts) -> str:
    """What a reader of the preset should know beyond the numbers."""
    notes = []
    if found.language_model_alone:
        notes.append(f"The language model of {found.architecture} alone; its other parts come on top.")
    if found.assumed:
        notes.append(f"The config.json leaves out what is the default of transformers: {', '.join(f'{fact} {value}' for fact, value in found.assumed.items())}.")
    if found.sliding_window is not None:
        every = found.full_attention_every
        layers = " in every layer" if every == 0 else f", every {every}{ {2: 'nd', 3: 'rd'}.get(every, 'th')} layer has full attention"
        notes.append(f"Sliding window of {found.sliding_window:,} tokens{layers} (config.json).")
    if found.storage:
        notes.append(f"The checkpoint is stored as {found.storage}.")
    return " ".join(notes)


def _hub_id(config: ConfigFile) -> str | None:
    """owner/name, where the config says from where it was loaded and that is no folder."""
    path = config.data.get("_name_or_path")
    return path if isinstance(path, str) and HUB_ID.fullmatch(path) and not path.startswith(".") else None


def _folder(config: ConfigFile) -> str:
    """What the file, or the folder of a config.json, is called."""
    return config.path.resolve().parent.name if config.path.name == "config.json" else config.path.stem


def _readable(name: str, found: Facts) -> str:
    """A name for the dropdown: words with spaces, and that it is the language model alone."""
    words = " ".join(re.sub(r"[_-]+", " ", name).split())
    return f"{words} text" if found.language_model_alone else words
