"""Loads of a server that show faults of the inference book, and what must hold of quantities that have no twin."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from random import Random

from builder.reference import estimate
from builder.reference.article_verdict import DOES_NOT_FIT, FITS
from builder.reference.inference_total import TIGHT
from tests.faulty_book import EQUIVALENT_ANYWHERE, Book, Job, laws_of_inputs, overridden

FULL = overridden(1024, 30, 16, 8, 80, 3000, 40_000, 900_000_000) | {
    "gpu_capacity_override_gb": 40, "memory_already_used_gb": 3, "cuda_graphs_gb": 1.5, "memory_fraction": 0.99, "base_model": "A"}
CHOICES = {
    "kv_cache_storage": ("BF16", "FP8", "INT8"), "kv_block_tokens": (1, 16, 100), "prompt_tokens": (1, 300, 1024, 9000, 200_000), "output_tokens": (1, 500, 20_000),
    "concurrent_sequences": (1, 3, 16, 500, 5000), "prefill_chunk_tokens": (1, 512, 2048, 8192), "sampling_kernel": ("Triton", "PyTorch", "FlashInfer"),
    "memory_fraction": (0.9, 0.5, 1), "memory_already_used_gb": (0, 2, 30), "cuda_graphs_gb": (None, 0, 2.5), "gpu_card": ("H100 SXM 80GB", "Tesla T4", "B200"),
}
# Shapes that a mix of formats treats apart, and in which other points of a pass are the largest.
SHAPES = (
    {}, {}, {}, {"hidden_size_override": 1000}, {"feed_forward_override": 3001}, {"head_dim_override": 90}, {"layers_override": 80}, {"layers_override": 1},
    {"feed_forward_override": 90_000}, {"feed_forward_override": 100}, {"vocabulary_override": 900_000}, {"parameters_override": 99_000_000_000}, {"heads_override": 640, "kv_heads_override": 1},
)
LIMITS = 150  # loads that are drawn to have one limit or another
# Faults that no load can show, as patterns of their names, and why.
EQUIVALENT = {
    "formulas": EQUIVALENT_ANYWHERE | {
        r"full_attention_every: (0 for 1|model_layers for model_full_attention_every)": "read only for a row that is blank there, which no preset is",
        r"stored_outputs: (without (attention|mlp)_stored \*|attention_stored for mlp_stored)": "a format that scales outputs stores every projection",
        r"sliding_layers: (>= for >|vocabulary for sliding_window|1 for 0)": "where nothing slides every layer is full, and 0 are left either way",
        r"sliding_layers: (without 1|0 for 1)": "IF gives 0 before the division where that would be by 0",
        r"group_layers: (1 for 0|without (full|sliding)_layers.*|(sliding|gguf_down_most)_layers for (full|sliding)_layers.*)":
            "where some layers are full, they are no more than those that slide",
        r"(window_blocks|qk_norm_token_bytes): 1 for 0": "the number that it is compared with is 0, or large, or 2",
        r"max_concurrent_sequences: (without \* IF.*|>= for >|1 for 0, place [23])": "where nothing slides the capped limits are the full ones",
        r"context_most_blocks: (\* for /|without / kv_block_tokens_used)": "more than the largest context, which is the limit",
        r"(context|dominate)_capped_blocks: (without \(sliding_block_bytes=0\)|1 for 0(, place 2)?|<= for <)": "where nothing slides the capped blocks are the full ones; no job is so close to 0",
        r"(context|dominate)_capped_blocks: without layer_token_bytes": "a guard against a division by 0 that IF avoids",
        r"max_context_tokens: without 0": "the capped blocks are never below 0",
        r"dominant: >= for >": "no cache is as large as the weights to the byte",
        r'workspace_mib: without & "\."': "every compute capability has a point",
    },
    "presets": {r"(Instinct|Apple) .*: card_compute_capability": "blank and 1 are both not Hopper"},
    "choices": {
        r"weight_storage GGUF Q4_K_M: (element|group|output_scale|embedding)_\w+ .*|weight_storage GGUF Q4_K_M: experts_only 1": "a mix counts each tensor by its own type",
        r"weight_storage (BF16|FP16|FP8|INT8|GGUF Q8_0): group_weights .*": "a format without groups has 0 bytes for each",
        r"weight_storage (BF16|FP16): experts_only 1": "what is left aside is BF16 as well",
        r"weight_storage NF4( double-quantised)?: experts_only 1": "the family says what bitsandbytes quantises",
    },
}


def jobs(presets, book: Book) -> list[dict[str, object]]:
    """Loads for one fault each, and drawn ones over storages, samplers, shapes and families."""
    return [
        FULL, FULL | {"base_model": "B"}, {"heads_override": 6}, {"base_model": "Half"}, {"gpu_card": "Half"}, FULL | {"layers_override": 0},
        {"sampling_kernel": "Lion", "prompt_tokens": -1}, {"prompt_tokens": -1, "output_tokens": 0, "weight_storage": "None"},
        *({"base_model": "GPT-2", "prompt_tokens": 1000, "output_tokens": tokens} for tokens in (24, 25)),
        *(FULL | {spec.name: "text"} for spec in presets.inputs if spec.kind in ("whole", "number")),
        *({spec.name: None} for spec in presets.inputs),
        *at_an_edge(presets), *grouped(), *limits(presets), *drawn(presets),
    ]


def at_an_edge(presets) -> list[dict[str, object]]:
    """Loads that take all of their room to the byte, and all but the KV cache of one sequence; an override of an estimated capacity."""
    found = estimate(presets, {})
    beside = found["workspace_bytes"] + found["context_bytes"]
    rough = next(card.name for card in presets.cards if card.memory.estimate)
    return [
        *({"memory_fraction": 1, "gpu_capacity_override_gb": (found[need] + beside) / 1e9} for need in ("traced_reserve_bytes", "traced_peak_bytes")),
        {"gpu_card": rough, "gpu_capacity_override_gb": 50},
    ]


def grouped() -> list[dict[str, object]]:
    """Numbers of layers that are paged in other groups, and that GGUF stores otherwise."""
    gguf = {"weight_storage": "GGUF Q4_K_M"}
    return [
        *({"base_model": name, "layers_override": layers} for name in ("Gemma 2 2B", "Gemma 3 1B") for layers in (1, 3, 5, 7, 27)),
        *(gguf | {"base_model": "Llama 3.1 8B", "layers_override": layers} | heads for layers in (79, 80)
          for heads in ({}, {"heads_override": 8}, {"kv_heads_override": 32})),
        *(gguf | {"base_model": "Falcon 7B"} | size for size in ({}, {"hidden_size_override": 4096})),
        {"base_model": "OLMo 2 7B", "kv_heads_override": 8},
        *({"base_model": name, "weight_storage": "NF4", "prefill_chunk_tokens": 16} for name in ("D", "E")),
    ]


def limits(presets, seed: int = 20261130) -> Iterator[dict[str, object]]:
    """Loads in which each point of a pass limits the sequences: short and long ones, much and little room, wide and narrow matrices, small vocabularies."""
    names = ("Llama 3.1 8B", "Phi-3 mini 4k", "Gemma 3 1B", "gpt-oss 20B", "Mistral 7B v0.1", "Gemma 2 2B", "E")
    every = list(product(names, ("NF4", "NF4", "BF16"), (1000, None), (1, 16, 700), (1, 200, 3000), (8e6, 3e7, 1e8, 4e8, 3e9), (None, 900, 90_000)))
    for name, storage, vocabulary, chunk, prompt, room, feed_forward in Random(seed).sample(every, LIMITS):
        yield with_room(presets, load_of(name, storage, vocabulary, chunk, prompt, feed_forward), room)
    for name, (storage, feed_forward), (chunk, sequences), prompt in product(
            ("Llama 3.1 8B", "Gemma 3 1B", "Gemma 2 2B"), (("NF4", None), ("NF4", 900), ("BF16", 900)), ((1, 3), (16, 40), (100, 3)), (1, 5000)):
        yield from at_the_last_byte(presets, load_of(name, storage, 1000, chunk, prompt, feed_forward), sequences)


def load_of(name: str, storage: str, vocabulary: int | None, chunk: int, prompt: int, feed_forward: int | None) -> dict[str, object]:
    return {"base_model": name, "weight_storage": storage, "vocabulary_override": vocabulary, "prefill_chunk_tokens": chunk, "prompt_tokens": prompt, "output_tokens": 1,
            "feed_forward_override": feed_forward, "kv_block_tokens": 1, "layers_override": 6, "sampling_kernel": "FlashInfer", "memory_fraction": 1}


def with_room(presets, job: Mapping[str, object], room: float) -> dict[str, object]:
    """The load on a card that has so many bytes beside its weights."""
    found = estimate(presets, job)
    return {**job, "gpu_capacity_override_gb": (found["weights_bytes"] + found["workspace_bytes"] + found["context_bytes"] + room) / 1e9}


def at_the_last_byte(presets, job: Mapping[str, object], sequences: int) -> list[dict[str, object]]:
    """The load with just the room for so many sequences, and with a byte less."""
    needed = dict(job) | {"concurrent_sequences": sequences}
    found = estimate(presets, needed)
    room = found["traced_reserve_bytes"] - found["weights_bytes"]
    return [with_room(presets, job, room + more) for more in (0, -1)]


def with_odd_models(presets):
    """A model of which only the MLP is quantised, and one with experts that are."""
    families = {
        "halved": presets.families["llama"].model_copy(update={"name": "Halved", "quantises_attention": False}),
        "experts": presets.families["mixtral"].model_copy(update={"name": "Quantised experts", "quantises_mlp": True}),
    }
    models = {family: next(model for model in presets.models if model.family == family) for family in ("llama", "mixtral")}
    odd = [type(model).model_construct(**dict(model) | {"name": name, "slug": name.lower(), "family": family, "family_name": families[family].name})
           for name, family, model in (("D", "halved", models["llama"]), ("E", "experts", models["mixtral"]))]
    return replace(presets, models=(*presets.models, *odd), families={**presets.families, **families})


def drawn(presets, seed: int = 20261130) -> Iterator[dict[str, object]]:
    """Each family, and each storage of weights in turn, the rest at random."""
    random = Random(seed)
    storages = [choice.name for spec in presets.inputs if spec.name == "weight_storage" for choice in spec.choices]
    for slug in presets.families:
        for storage in storages:
            model = random.choice([model for model in presets.models if model.family == slug])
            shape = random.choice(SHAPES)
            if presets.families[slug].sinusoidal_positions:
                shape = {}
            yield {"base_model": model.name, "weight_storage": storage, **shape, **{name: random.choice(choices) for name, choices in CHOICES.items()}}


def laws(presets, job: Job) -> Iterator[tuple[str, object]]:
    """What a quantity without a twin must be, or how that follows from the other values; None is unavailable."""
    yield from laws_of_inputs(presets, job)
    text = {FITS: "advice_server_fits", TIGHT: "advice_server_tight", DOES_NOT_FIT: "advice_server_does_not_fit"}.get(job.expected["fit_verdict"])
    yield "load_advice", presets.constants[text].value if text else ""
