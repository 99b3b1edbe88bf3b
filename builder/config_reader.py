"""One fact of a config.json after the other, by the keys and defaults of a family."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from builder.config_file import MISSING, ConfigFile
from builder.config_schema import NEEDED, SOME, Architectures
from builder.schema import Family
from builder.validate import shown

FLAGS = ("tied_embeddings", "qkv_bias", "o_bias", "mlp_bias", "window_used")
FROM_ZERO = ("full_attention_every", "full_layers")
LARGEST = 10**15  # spreadsheets keep 15 digits


@dataclass
class Reader:
    """`part` is what describes the language model, `config` the whole file; `assumed` gathers what a text_config leaves out."""

    config: ConfigFile
    part: ConfigFile
    family: Family
    common: Architectures
    assumed: dict[str, object] = field(default_factory=dict)

    def shape(self) -> dict[str, int | bool]:
        """The dimensions, flags and tables of a preset's shape, in its order."""
        wanted = [*NEEDED, *(fact for fact, has in SOME.items() if getattr(self.family, has))]
        found = {fact: self.value(fact) for fact in wanted}
        if missing := list(dict.fromkeys(" or ".join(self.keys(fact)) for fact, value in found.items() if value is MISSING)):
            raise self.part.problem(f"{'the key' if len(missing) == 1 else 'the keys'} {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
                                    + (f" in {self.part.inside}" if self.part.inside else ""))
        for fact in sorted(found, key=lambda fact: isinstance(found[fact], str)):  # what follows from others comes last
            found[fact] = self.typed(fact, self.by_rule(found, fact))
        if found["heads"] % found["kv_heads"]:
            default = "" if self.place("kv_heads") else ", the default,"
            raise self.part.problem(f"kv_heads: {found['kv_heads']}{default} does not divide heads, {found['heads']}", self.place("kv_heads"))
        if found.get("experts_per_token", 0) > found.get("experts", 0):
            raise self.part.problem(f"experts_per_token: {found['experts_per_token']} of {found['experts']} experts", self.place("experts_per_token"))
        return found

    def share(self) -> int | float:
        """The share of a head that turns with the position."""
        value = self.value("rotary_share")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise self.part.problem(f"{self.place('rotary_share')}: {shown(value)} is not a share from 0 to 1", self.place("rotary_share"))
        return value

    def optional(self, fact: str) -> Any:
        """A fact that only some files have, None where it is missing or null."""
        value = self.value(fact)
        return None if value in (MISSING, None) else self.typed(fact, value)

    def keys(self, fact: str) -> list[str]:
        """The config keys of a fact."""
        return self.common.keys_for(self.family).get(fact, [])

    def place(self, fact: str) -> str | None:
        """The key that gives the fact in this file."""
        return next((key for key in self.keys(fact) if self.part.get(key) is not MISSING), None)

    def value(self, fact: str) -> Any:
        """What the file says, else the default; a rule as its text; MISSING where there is neither. A null stands for the rule, if there is one."""
        reading = self.family.config_json
        given = {key: value for key in self.keys(fact) if (value := self.part.get(key)) is not MISSING}
        if fact == "tied_embeddings":  # the whole model ties them, so what its own config says goes before what its text_config says
            given |= {key: value for key in self.keys(fact) if (value := self.config.get(key)) is not MISSING}
        stated = {key: value for key, value in given.items() if value is not None}
        if stated:
            (key, first), *others = stated.items()
            if isinstance(first, str):
                raise self.part.problem(f"{key}: {shown(first)} is text", key)
            for other, value in others:
                if value != first:
                    raise self.part.problem(f"{other}: {shown(value)}, but {key} is {shown(first)}", other)
            return first
        defaults = [reading.defaults.get(fact, MISSING), self.common.defaults.get(fact, MISSING)]
        if given and fact == "sliding_window":
            return None
        if given and fact in NEEDED:
            return next((default for default in defaults if isinstance(default, str)), MISSING)
        if self.part.inside and fact in reading.text_config_defaults:
            self.assumed[fact] = reading.text_config_defaults[fact]
            return self.assumed[fact]
        return next((default for default in defaults if default is not MISSING), MISSING)

    def by_rule(self, found: Mapping[str, Any], fact: str) -> Any:
        """The value of a fact whose default follows from others."""
        value = found[fact]
        if value == "heads" or value == "4 * hidden_size":
            return found["heads"] if value == "heads" else 4 * found["hidden_size"]
        if value == "hidden_size / heads":
            hidden, heads = found["hidden_size"], found["heads"]
            if hidden % heads:
                raise self.part.problem(f"{self.place('hidden_size')}: {hidden} is not a multiple of the {heads} heads", self.place("hidden_size"))
            return hidden // heads
        return value

    def typed(self, fact: str, value: Any) -> int | bool:
        """A flag that is true or false, a count from 1 on."""
        least = 0 if fact in FROM_ZERO else 1
        good = isinstance(value, bool) if fact in FLAGS else isinstance(value, int) and not isinstance(value, bool) and least <= value < LARGEST
        if not good:
            key = self.place(fact)
            raise self.part.problem(f"{key or fact}: {shown(value)} is not {'true or false' if fact in FLAGS else f'a whole number from {least} on'}", key)
        return value
