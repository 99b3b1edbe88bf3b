"""What presets/architectures.yaml may hold: how config.json files are read where families agree, and what the others are."""
from __future__ import annotations

from builder.preset_checks import unique
from builder.schema import Date, Defaults, Family, Keys, Requirements, Spec, Text
from builder.strict_yaml import Document

NEEDED = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary", "tied_embeddings", "qkv_bias", "o_bias", "mlp_bias")
# Facts of some families, by the key of the family that says so.
SOME = {"learned_positions": "learned_positions", "experts": "experts", "experts_per_token": "experts"}


class Checkpoint(Spec):
    """A format in which a checkpoint is stored, by its quantization_config."""

    method: Text
    where: dict[Text, bool | str]
    format: Text
    advice: Text


class Architectures(Spec):
    """presets/architectures.yaml."""

    keys: Keys
    defaults: Defaults
    requires: Requirements
    flat_multimodal: list[Text]
    endings: dict[Text, Text]
    signs: dict[Text, Text]
    checkpoints: list[Checkpoint]
    source: Text
    date: Date

    def keys_for(self, family: Family) -> dict[str, list[str]]:
        """The config keys of each fact, as this family has them."""
        return {**self.keys, **family.config_json.keys}


def check(document: Document, found: Family, common: Architectures) -> None:
    """Every fact that a preset of the family needs has a key or a default, and no others of `SOME` have."""
    given = common.keys_for(found)
    known = {fact for fact, keys in given.items() if keys} | {*common.defaults, *found.config_json.defaults}
    for fact in (*NEEDED, *SOME):
        expected = fact in NEEDED or getattr(found, SOME[fact])
        if expected != (fact in known):
            what = "is missing; give its keys in config.json, or a default" if expected else f"but {SOME[fact]} is false"
            raise document.problem(("config_json", "keys", fact), f"config_json: {fact} {what}")


def check_names(documents: list[tuple[Document, Family]]) -> None:
    """No two families claim an architecture or a model_type."""
    unique((document, ("architectures", index), name) for document, found in documents for index, name in enumerate(found.architectures))
    unique((document, ("config_json", "model_types", index), name) for document, found in documents for index, name in enumerate(found.config_json.model_types))
