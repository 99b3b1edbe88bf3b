"""The model's shape: the preset's seven dimensions and count, and those that the job uses.

An override of the user's replaces the preset's value; a blank one leaves it. Overriding the shape does not change the
parameter count, which is the published one unless it has an override of its own (`parameter_count` gives the count that
the shape implies).

Which layers have a sliding window, and which share of a head turns with the position, are the preset's and have no override.

Source: config.json of each model (the preset names it); grouped-query attention as in transformers' LlamaConfig.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Mapping

DIMENSIONS = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary")
"""The dimensions that a shape has, in the order of the Sizing sheet."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of a decoder: elements, except `layers`, `heads`, `kv_heads` (counts) and `vocabulary` (tokens)."""

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int

    @property
    def q_width(self) -> int:
        """Output width of the query projection = heads x head_dim, elements. It need not equal hidden_size."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Output width of the key projection, and of the value projection = kv_heads x head_dim, elements."""
        return self.kv_heads * self.head_dim


def used(preset: object, overrides: Mapping[str, int | None]) -> Shape:
    """The shape that the job uses: for each dimension the override if there is one, else the preset's."""
    return Shape(**{
        dimension: getattr(preset, dimension) if overrides.get(dimension) is None else overrides[dimension]
        for dimension in DIMENSIONS
    })


def quantities(
    preset: Shape, shape: Shape, parameters_preset: int, parameters_override: int | None, model: object
) -> dict[str, float]:
    """`<dimension>` and `parameters` as used, each with its `_preset`; `q_width` and `kv_width` of the shape as used.

    And of the model's preset: `sliding_window` in tokens (0: none), `full_attention_every` in layers (1: each layer attends to
    all tokens, 0: none does), `rotary_share` of head_dim (partial_rotary_factor of the config).
    """
    return {
        **{f"{dimension}_preset": value for dimension, value in asdict(preset).items()},
        **asdict(shape),
        "parameters_preset": parameters_preset,
        "parameters": parameters_preset if parameters_override is None else parameters_override,
        "q_width": shape.q_width,
        "kv_width": shape.kv_width,
        "sliding_window": model.sliding_window or 0,
        "full_attention_every": model.full_attention_every,
        "rotary_share": model.rotary_share,
    }
