"""What a preset file may hold: one model per kind of file, every key named, every value typed, every fact with source and date."""
from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

Scalar = str | int | float
Book = Literal["finetune", "training", "inference"]
BOOKS: tuple[Book, ...] = get_args(Book)

PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
# Projections that a family may hold as one matrix, under the name of that matrix.
FUSED = {"qkv": ["q", "k", "v"], "gate_up": ["gate", "up"]}
DIMENSIONS = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary")
# Excel shows no more of an input message (and of an error message) and of its title.
HELP_LENGTH, TITLE_LENGTH, NAME_LENGTH = 255, 32, 60


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _name(text: str) -> str:
    """A text that a dropdown offers and a lookup finds again: no wildcard, no quote, no stray space, no bare number."""
    if found := re.search(r"""[*?~"'`]""", text):
        raise ValueError(f"must not contain {found[0]} (a wildcard or a quote to spreadsheets)")
    if text != " ".join(text.split()):
        raise ValueError("must not have leading, trailing or double spaces, or line breaks")
    if not text[:1].isalnum() or not any(map(str.isalpha, text)):
        raise ValueError("must start with a letter or digit and contain a letter (a spreadsheet would read it as a number or formula)")
    return text


def _identifier(text: str) -> str:
    # With an underscore it cannot be a cell address, as bf16 or r1c1 would be.
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", text):
        raise ValueError("must be snake_case with an underscore, such as lora_rank")
    return text


def _iso_date(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        return date.fromisoformat(value)
    if not isinstance(value, date):
        raise ValueError("is not a date; write one as 2026-11-30")
    return value


Text = Annotated[str, AfterValidator(_not_empty)]
Name = Annotated[str, Field(max_length=NAME_LENGTH), AfterValidator(_name)]
Identifier = Annotated[str, AfterValidator(_identifier)]
Label = Annotated[str, Field(max_length=TITLE_LENGTH), AfterValidator(_not_empty)]
Message = Annotated[str, Field(max_length=HELP_LENGTH), AfterValidator(_not_empty)]
Date = Annotated[date, BeforeValidator(_iso_date)]
# Spreadsheets keep 15 digits of a number.
Count = Annotated[int, Field(ge=1, lt=10**15)]
Positive = Annotated[int | float, Field(gt=0)]


class Spec(BaseModel):
    """Base of every preset: no unknown key, no conversion between types, no change after loading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# What a config.json tells of a model. `window_used` and `full_layers` (the first layers, which attend to all tokens) only say which layers slide.
Fact = Literal[
    "hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary", "tied_embeddings", "qkv_bias", "o_bias", "mlp_bias",
    "learned_positions", "experts", "experts_per_token", "rotary_share", "sliding_window", "full_attention_every", "window_used", "full_layers",
]
# A default that follows from other facts.
Rule = Literal["heads", "hidden_size / heads", "4 * hidden_size"]
Keys = dict[Fact, list[Text]]  # the config keys of a fact, each of them enough; one within another as outer.inner
Defaults = dict[Fact, bool | int | float | Rule]  # of facts whose keys the config leaves out
Requirements = dict[Text, list[bool | int | float | str | None] | Literal["number"]]  # values of config keys that the layers rest upon


class ConfigJson(Spec):
    """How a config.json of the family says what a preset holds, beyond what presets/architectures.yaml says of all."""

    model_types: list[Text] = Field(min_length=1)  # its own, then those of the same language model within a larger one
    keys: Keys
    defaults: Defaults
    text_config_defaults: Defaults  # more that the text_config of a multimodal model leaves out: transformers writes there what is not its default
    window: Literal["none", "every layer", "every n-th layer full", "upper layers"]  # the layers that slide where a window is set
    requires: Requirements


Projection = Literal["q", "k", "v", "qkv", "o", "gate", "up", "gate_up", "down", "router"]


class Family(Spec):
    """presets/families/<slug>.yaml: what the layers of a model family are made of."""

    name: Name
    books: list[Book] = list(BOOKS)
    architectures: list[Text] = Field(min_length=1)
    activations_modelled: bool  # false: weights, adapters and optimizer states are exact, and no total is given
    training_modelled: bool  # the same of full training, where every weight trains
    article_covers: bool  # the article's formulas know this kind of layer
    norms_per_layer: Annotated[int, Field(ge=0)]  # norms over hidden_size
    final_norms: Annotated[int, Field(ge=0)]
    norms_first: bool  # attention and MLP begin with a norm; false: they end with one and begin with none
    layer_norm: bool  # LayerNorm with a bias, in place of RMSNorm without
    gated_mlp: bool  # gate, up and down; false: up and down
    parallel_mlp: bool  # attention and MLP read the same input side by side
    holds_attention_output: bool  # the layer's code holds the output of attention while the MLP runs
    qk_norms: Literal[0, 2]  # norms per layer on q and on k, or none
    wide_qk_norms: bool  # they are as wide as q and k, in place of one head
    fused_projections: dict[Literal["qkv", "gate_up"], list[Text]]  # projections that are one matrix, by its name
    modules: dict[Projection, Text]  # transformers' names of a layer's projections; a fused one under its own name
    quantises_attention: bool  # bitsandbytes finds q, k, v and o as layers that it replaces
    quantises_mlp: bool  # and those of the MLP
    experts: bool  # several MLPs and a router that picks some for each token
    adapts_experts: bool  # PEFT puts adapters on experts (and, for all linear layers, on the router)
    router_bias: bool
    attention_sinks: bool  # one more number per head that takes a share of each softmax
    learned_positions: bool  # a table of positions beside the embedding
    sinusoidal_positions: bool  # an FP32 table of positions that does not train
    head_bias: bool
    late_norm_cast: bool  # a norm goes back to the type of its input while its FP32 tensors before and after the weight are alive
    model_dropout: Annotated[int | float, Field(ge=0, lt=1)]  # share that the config drops out of attention, of the output of attention and MLP, and of the embedding
    relu: bool  # ReLU in the MLP, in place of SiLU or GELU
    gelu: bool  # tanh GELU in the MLP, in place of SiLU
    gelu_steps: bool  # the GELU is made of several operations, a power among them, each of which saves its tensors
    softmax_fp32: bool  # eager attention asks for a softmax in FP32; false: in the type of its input
    sdpa_scores: bool  # one KV head that is not repeated: SDPA has no kernel for it and makes scores in FP32
    attention_softcap: bool  # attention scores go through a tanh
    logit_softcap: bool  # logits go through a tanh
    scales_embedding: bool  # the output of the embedding module is multiplied outside of it
    scales_residual: bool  # what attention and MLP give is multiplied before it is added
    eager_only: bool  # transformers has no SDPA path for it
    rotary_tables: Annotated[int, Field(ge=0)]  # pairs of cos and sin made in each forward
    rotates_in_fp32: bool  # queries and keys turn in FP32 and go back to their own type
    transformers_config: dict[str, bool | int | float | str]  # further keys of config.json that a model built from the shape needs
    config_json: ConfigJson
    source: Text
    date: Date
    notes: Text | None = None

    @property
    def dropout(self) -> bool:
        """Whether the model itself drops out anything."""
        return self.model_dropout > 0

    @property
    def fused_qkv(self) -> bool:
        """Whether q, k and v are one projection."""
        return "qkv" in self.fused_projections

    @property
    def fused_gate_up(self) -> bool:
        """Whether gate and up are one projection."""
        return "gate_up" in self.fused_projections


class Shape(Spec):
    """Dimensions of a decoder in elements; layers, heads and kv_heads are counts, vocabulary is in tokens."""

    hidden_size: Count
    layers: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    feed_forward: Count
    vocabulary: Count
    tied_embeddings: bool
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    learned_positions: Count | None = None  # rows of the table of positions
    experts: Count | None = None  # MLPs of feed_forward each
    experts_per_token: Count | None = None
    source: Text
    date: Date


class Parameters(Spec):
    """The parameter count; `published: false` where the source is the shape alone.

    `published_value` is the published figure where it is another one, and `difference` says why.
    """

    value: Count
    published: bool = True
    published_value: Count | None = None
    difference: Text | None = None
    source: Text
    date: Date


class ModelFile(Spec):
    """presets/models/<slug>.yaml."""

    name: Name
    family: str
    hub_id: Text
    books: list[Book] = list(BOOKS)  # in which it is offered
    shape: Shape
    parameters: Parameters
    sliding_window: Count | None = None  # tokens that a sliding layer attends to; none where no layer slides
    full_attention_every: Annotated[int, Field(ge=0)] = 1  # every n-th layer attends to all tokens; 0: every layer slides
    rotary_share: Annotated[int | float, Field(gt=0, le=1)] = 1  # of the head dimension that turns with the position
    notes: Text | None = None


class ModelPreset(ModelFile):
    """A model with its slug (the file name) and the name of its family."""

    slug: str
    family_name: str

    @property
    def q_width(self) -> int:
        """Output width of the query projection, elements."""
        return self.shape.heads * self.shape.head_dim

    @property
    def kv_width(self) -> int:
        """Output width of the key projection, and of the value projection, elements."""
        return self.shape.kv_heads * self.shape.head_dim

    def parameters_from_shape(self, family: Family) -> int:
        """The number of parameters that the shape implies for a model of `family`."""
        shape, hidden, width = self.shape, self.shape.hidden_size, self.shape.feed_forward
        attention = 2 * hidden * (self.q_width + self.kv_width) + shape.qkv_bias * (self.q_width + 2 * self.kv_width) + shape.o_bias * hidden
        mlp_inputs = 2 if family.gated_mlp else 1
        mlp = (mlp_inputs + 1) * hidden * width + shape.mlp_bias * (mlp_inputs * width + hidden)
        experts = shape.experts or 1
        router = experts * (hidden + family.router_bias) if family.experts else 0
        norm = 2 if family.layer_norm else 1
        qk_norms = self.q_width + self.kv_width if family.wide_qk_norms else 2 * shape.head_dim
        layer = attention + experts * mlp + router + norm * family.norms_per_layer * hidden + (qk_norms if family.qk_norms else 0)
        layer += shape.heads if family.attention_sinks else 0
        embeddings = (1 if shape.tied_embeddings else 2) * shape.vocabulary * hidden + (shape.learned_positions or 0) * hidden
        return embeddings + family.head_bias * shape.vocabulary + shape.layers * layer + norm * family.final_norms * hidden
