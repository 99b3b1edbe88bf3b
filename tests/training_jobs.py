"""Jobs of full training that show faults of its book, and what must hold of quantities that have no twin."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from builder.reference import estimate
from builder.reference.article_verdict import DOES_NOT_FIT, FITS, NOT_COVERED
from builder.reference.ledger_total import TIGHT
from builder.reference.shown import number
from tests.faulty_book import EQUIVALENT_ANYWHERE, Book, Job, exact_job, laws_of_inputs, overridden

AT_PEAK = ("article_weights", "article_gradients", "article_optimizer_states", "article_weight_cache", "article_activations")
FULL = overridden(1024, 30, 16, 8, 80, 3000, 40_000, 5_000_000) | {
    "gpu_capacity_override_gb": 40, "memory_already_used_gb": 3, "base_model": "A", "batch_size": 3, "gradient_accumulation_steps": 4}
ENCODER = {"base_model": "Article encoder 1B"}
SMALL_ENCODER = ENCODER | overridden(1024, 5, 16, 16, 64, 3000, 40_000, 5_000_000) | {"memory_already_used_gb": 3}
CHOICES = {
    "attention_kernel": ("Flash / SDPA", "Eager"), "training_loop": ("Plain loop", "Hugging Face Trainer"), "keeps_kv_cache": ("By loop", "By loop", "Yes", "No"),
    "keeps_previous_output": ("By loop", "By loop", "Yes", "No"), "dropout_rate": (None, 0, 0.1), "gradient_accumulation_steps": (1, 1, 2, 8),
    "batch_size": (1, 1, 2, 5, 64), "sequence_length": (7, 100, 900, 2100, 5000), "gpu_card": ("H100 SXM 80GB", "Tesla T4", "Instinct MI300X"),
    "allocator_mode": ("Default", "Expandable segments"),
}
# Shapes in which other points of a step are the largest: a small vocabulary, a long MLP, one layer, matrices below the least that 8-bit Adam quantises.
SHAPES = (
    {}, {}, {}, {"vocabulary_override": 50}, {"vocabulary_override": 50, "feed_forward_override": 90_000}, {"layers_override": 1}, {"layers_override": 1, "vocabulary_override": 9},
    {"hidden_size_override": 64, "heads_override": 4, "kv_heads_override": 4, "head_dim_override": 16, "feed_forward_override": 80, "vocabulary_override": 70},
    {"hidden_size_override": 32, "heads_override": 2, "kv_heads_override": 2, "head_dim_override": 16, "feed_forward_override": 4100, "vocabulary_override": 4097},
)
REASONS = {
    "BF16 storage": lambda job, family: job["storage_precision"] == "BF16",
    "this optimizer": lambda job, family: job["optimizer_choice"] in ("Adam fused", "SGD", "SGD momentum", "Adafactor"),
    "eager attention": lambda job, family: job["attention_kernel"] == "Eager",
    "this model family": lambda job, family: not (family.layer_norm and family.relu and not family.gated_mlp),
    "a model without dropout": lambda job, family: (family.model_dropout if job["dropout_rate"] is None else job["dropout_rate"]) == 0,
}
# Faults that no job can show, as patterns of their names, and why.
EQUIVALENT = {
    "formulas": EQUIVALENT_ANYWHERE | {
        r"gradient_accumulation_steps_problem: scenario_number for gradient_accumulation_steps_typed": "as without ISNUMBER",
        r"(article_dropout_mask|article_recomputed|scores_saved|mlp_saved|attention_mask|passing_tensors|attention_scores)_bytes: (/ for \*(, place \d)?|without \* bytes_mask)":
            "bytes_mask is 1, and a 0 or 1 is multiplied",
        r"article_peak_is_optimizer: article_peak_forward_bytes for article_peak_allocated_bytes":
            "where backward is the largest the branch gives 0 anyway, so only forward is left to compare with",
        r"(article_verdict_valid|accounts_note): article_choices_covered for article_covered": "they differ while an input is wrong, when neither quantity is shown",
        r"(head_norms_on|window_masked|attention_inputs_bytes|mlp_inputs_bytes|softmax_copies|head_apart_bytes|work_last_bytes|work_first_weight_bytes"
        r"|attention_kernel_bytes|encoder_query_bytes|point_start_weight_bytes): 1 for 0(, place 2)?": "the number that it is compared with is 0, 2 or large",
        r"cache_shared_bytes: 1 for 0, place 3": "the number that it is compared with is 0 or 2",
        r"cast_bytes: without \(stored_is_fp32=1\)|log_softmax_bytes: (without autocast_on|\+ for -)": "autocast goes with FP32 storage alone",
        r"softmax_bytes: without eager_on \*": "read where eager attention is on",
        r"(made_bytes|point_start_weight_bytes): computed_bytes for cast_bytes(, place 2)?": "read where weights are cast, to the type that is computed in",
        r"(work_last_bytes|encoder_query_bytes): (stored_bytes for computed_bytes|boundary_bytes for hidden_computed_bytes(, place \d)?)":
            "read where no weight is cast, so that one computes as is stored",
        r"own_saved_bytes: layer_kinds_bytes for layer_saved_bytes|reserve_layer_block_bytes: layer_kinds_bytes for layer_saved_bytes": "under checkpointing nothing is cached",
        r"encoder_query_bytes: layer_saved_bytes for layer_freed_bytes": "an encoder caches nothing",
        r"points_peak_bytes: point_forward.*|default_reserve_bytes: reserve_forward.*": "the begin of a step is never above the embedding's backward, which holds all of it",
        r"peak_is_(loss|start|inside): (\+ for -|without - peak_is_\w+|peak_is_\w+ for peak_is_\w+)(, place \d)?": "no two moments are equal at the peak",
        r"peak_is_inside: point_step_bytes for traced_peak_bytes": "where an earlier moment is the peak the branch gives 0 anyway",
        r"peak_at_embedding: (without \(top_layer_bytes<traced_peak_bytes\)|<= for <|backward_done_bytes for top_layer_bytes)": "no two points are equal at the peak",
        r"tight_total_gb: (inputs_valid for figures_given|\w+ for no_figure)": "read where figures are given",
        r"room_bytes: without (\* \(1\+solve_tolerance\)|\+ solve_tolerance)": "for the rounding of a number of pages that is whole",
        r"accounts_differ: >= for >": "no difference is a tenth to the byte",
        r'workspace_mib: without & "\."': "every compute capability has a point",
    },
    "presets": {r"(Instinct|Apple) .*: card_compute_capability": "blank and 1 are both not Hopper"},
    "constants": {"solve_tolerance 1.01e-12": "any number that small makes up for the rounding"},
    "choices": {
        r"optimizer_choice (Adam fused|SGD|SGD momentum|Adafactor): article_\w+ 1": "the article does not cover these optimizers, and every figure is withheld",
    },
}


def jobs(presets, book: Book) -> list[dict[str, object]]:
    """Jobs for one fault each, and drawn ones over storages, optimizers, kernels, shapes and families."""
    return [
        *(exact_job(presets, book, total, "batch_size") for total in ("article_total_gb", "total_gb", "tight_total_gb")), *at_an_edge(presets),
        FULL, FULL | {"base_model": "B", "activation_checkpointing": "On"},
        {"heads_override": 6}, {"base_model": "Half"}, {"gpu_card": "Half"}, FULL | {"layers_override": 0},
        {"optimizer_choice": "Lion", "batch_size": -1}, {"batch_size": -1, "sequence_length": 0, "attention_kernel": "None"},
        *of_the_article(), *of_the_ledger(),
        *({"base_model": "GPT-2", "sequence_length": length} for length in (1024, 1025)),
        *(FULL | {spec.name: "text"} for spec in presets.inputs if spec.kind in ("whole", "number")),
        *({spec.name: None} for spec in presets.inputs),
        *drawn(presets),
    ]


def at_an_edge(presets) -> list[dict[str, object]]:
    """Jobs whose capacity, or whose number of parameters, follows from what another job takes."""
    checkpointed = SMALL_ENCODER | {"activation_checkpointing": "On", "compute_precision": "As stored, no autocast"}
    tied = estimate(presets, checkpointed)["article_activations_bytes"]  # backward and the optimizer step of Adam peak at the same byte
    gemma = {"base_model": "Gemma 2 2B"}
    held = estimate(presets, gemma)
    rough, full = (card.name for card in (next(card for card in presets.cards if card.memory.estimate == rough) for rough in (True, False)))
    article = estimate(presets, SMALL_ENCODER)
    return [
        checkpointed | {"parameters_override": round(tied / 8)},
        SMALL_ENCODER | {"gpu_capacity_override_gb": (article["article_peak_reserved_gb"] + article["article_total_gb"]) / 2},
        *(gemma | {"gpu_capacity_override_gb": held["held_gb"] + share * held["context_bytes"] / 1e9} for share in (-0.5, 0.5, 1)),
        *({"gpu_card": name, "gpu_capacity_override_gb": 50} for name in (rough, full)),
    ]


def of_the_article() -> list[dict[str, object]]:
    """Encoders: each choice that the article does not cover, and each moment as its peak."""
    adam8, on, off = {"optimizer_choice": "8-bit Adam"}, {"activation_checkpointing": "On"}, {"compute_precision": "As stored, no autocast"}
    uncovered = ({"dropout_rate": 0}, {"attention_kernel": "Eager"}, off | {"storage_precision": "BF16"}, {"optimizer_choice": "SGD"})
    sizes = ({"batch_size": 1, "sequence_length": 1}, {"batch_size": 4}, {"batch_size": 64, "sequence_length": 900})
    return [
        *(ENCODER | choices for choices in uncovered),
        {"storage_precision": "BF16"}, ENCODER | {"hidden_size_override": 1000}, ENCODER | {"kv_heads_override": 1},
        *(SMALL_ENCODER | size | checkpointing | optimizer | precision for size in sizes for checkpointing in ({}, on) for optimizer in ({}, adam8)
          for precision in ({}, off)),
        *(ENCODER | on | optimizer | {"batch_size": batch} for optimizer in ({}, adam8) for batch in (8, 64, 128, 400)),
        ENCODER | on | adam8 | {"batch_size": 64, "layers_override": 2},
        *(ENCODER | overridden(256, 2, 4, 4, 64, 500, 900, None) | on | optimizer | {"batch_size": 2} for optimizer in ({}, adam8)),
        *(ENCODER | on | optimizer | {"batch_size": batch, "vocabulary_override": vocabulary, "parameters_override": parameters}
          for optimizer in ({}, adam8) for batch in (1, 64) for vocabulary in (100, 50_000) for parameters in (50_000_000, 3_000_000_000)),
        # The accountings differ most in the weights, and in their cache.
        ENCODER | overridden(256, 8, 4, 4, 64, 20_000, 5000, None) | on | adam8,
        *(ENCODER | overridden(1024, layers, 4, 4, 256, 20_000, vocabulary, parameters) | adam8 | {"batch_size": batch, "sequence_length": 1, "gradient_accumulation_steps": 2} | kept
          for layers, vocabulary, parameters, batch, kept in ((40, 100_000, 1_000_000, 4, on), (8, 100_000, 100_000_000, 256, {}), (40, 100, 1, 1, on))),
        SMALL_ENCODER | off | {"dropout_rate": 0}, SMALL_ENCODER | {"dropout_rate": 0},
        {"gpu_capacity_override_gb": 40, "memory_already_used_gb": 20}, {"memory_already_used_gb": 3, "gpu_capacity_override_gb": 44},
    ]


def of_the_ledger() -> list[dict[str, object]]:
    """Decoders: edges of what 8-bit Adam quantises, windows, one KV head, ties in what is offered."""
    adam8 = {"optimizer_choice": "8-bit Adam"}
    tiny = {"batch_size": 1, "sequence_length": 1}
    eager = {"attention_kernel": "Eager"}
    return [
        *(adam8 | {"base_model": "Qwen3-4B", "head_dim_override": size} for size in (300, 4096, 5000)),
        *(adam8 | {"base_model": model} | overridden(*sizes, None) for model in ("Phi-3 mini 4k", "A", "B", "Qwen2.5-0.5B", "D") for sizes in (
            (64, 3, 4, 4, 16, 64, 64), (32, 3, 4, 2, 16, 4096, 4096), (64, 2, 64, 64, 64, 32, 500), (64, 2, 128, 64, 64, 5000, 500),
            (64, 2, 4, 4, 16, 16, 64), (16, 2, 64, 1, 16, 16, 64), (64, 2, 32, 32, 64, 64, 64), (64, 2, 128, 2, 64, 64, 64))),
        *({"base_model": "Llama 3.2 1B", "allocator_mode": mode} | tiny | overridden(8, 1, 1, 1, 8, 8, 8, None) for mode in ("Default", "Expandable segments")),
        adam8 | ENCODER | {"vocabulary_override": 4096}, adam8 | ENCODER | {"feed_forward_override": 4096},
        *({"base_model": "Llama 3.2 1B", "kv_heads_override": 1, "batch_size": batch} | eager for batch in (1, 2)),
        *({"base_model": "Mistral 7B v0.1", "batch_size": 1, "sequence_length": length, "kv_heads_override": heads} | kernel
          for length in (4095, 4096, 5000) for heads in (None, 32, 4) for kernel in ({}, eager)),
        *({"base_model": "Phi-3 mini 4k", "keeps_kv_cache": "No", "batch_size": batch} | kernel for batch in (1, 2) for kernel in ({}, eager)),
        *({"base_model": "Llama 3.2 1B", "layers_override": 1, "optimizer_choice": optimizer} | tiny for optimizer in ("Adam", "Adafactor", "SGD")),
        FULL | {"base_model": "Mixtral 8x7B"}, FULL | {"base_model": "gpt-oss 20B"}, FULL | {"base_model": "D", "feed_forward_override": 700},
        {"base_model": "Gemma 2 2B"} | eager, {"base_model": "Gemma 2 2B", "gpu_capacity_override_gb": 21.05},
        {"base_model": "Phi-3 mini 4k", "feed_forward_override": 500},
        *({"base_model": "Llama 3.2 1B", "gpu_capacity_override_gb": capacity, "memory_already_used_gb": 1, "batch_size": 1, "allocator_mode": mode}
          for capacity in (21, 22, 23, 24, 25, 26, 27, 28) for mode in ("Default", "Expandable segments")),
        *({"base_model": "Llama 3.2 1B"} | tiny | {"allocator_mode": "Expandable segments", "optimizer_choice": name} for name in ("SGD", "Adam")),
    ]


def with_odd_models(presets):
    """A model that fuses q, k and v alone, with every bias, LayerNorms and a ReLU; and families that lack one of what the article's encoder has."""
    llama = presets.families["llama"]
    families = {
        "fused": llama.model_copy(update={"name": "Fused", "layer_norm": True, "relu": True, "fused_projections": {"qkv": ["q", "k", "v"]}}),
        "gelu": presets.families["encoder"].model_copy(update={"name": "Encoder without a ReLU", "relu": False}),
        "plain": llama.model_copy(update={"name": "Plain", "gated_mlp": False, "relu": True, "training_modelled": False}),
    }
    encoder, small = (next(model for model in presets.models if model.name == name) for name in ("Article encoder 1B", "A"))
    biased = small.model_copy(update={"shape": small.shape.model_copy(update={"mlp_bias": True})})
    odd = [type(model).model_construct(**dict(model) | {"name": name, "slug": name.lower(), "family": family, "family_name": families[family].name})
           for name, family, model in (("D", "fused", biased), ("E", "plain", biased), ("F", "gelu", encoder))]
    return replace(presets, models=(*presets.models, *odd), families={**presets.families, **families})


def drawn(presets, seed: int = 20261130) -> Iterator[dict[str, object]]:
    """Each family of which training is modelled under each storage and precision, with and without checkpointing, the rest at random."""
    random = Random(seed)
    modelled = [next(model for model in presets.models if model.family == slug) for slug, family in presets.families.items() if family.training_modelled]
    optimizers = [choice.name for spec in presets.inputs if spec.name == "optimizer_choice" for choice in spec.choices]
    precisions = (("FP32", "BF16 mixed precision"), ("FP32", "As stored, no autocast"), ("BF16", "As stored, no autocast"))
    for model in modelled:
        for storage, precision in precisions:
            for checkpointing in ("Off", "On"):
                shape = random.choice(SHAPES)
                if presets.families[model.family].sinusoidal_positions:
                    shape = {name: size for name, size in shape.items() if name in ("vocabulary_override", "feed_forward_override", "layers_override")}
                yield {
                    "base_model": model.name, "storage_precision": storage, "compute_precision": precision, "activation_checkpointing": checkpointing,
                    "optimizer_choice": random.choice(optimizers), **shape, **{name: random.choice(choices) for name, choices in CHOICES.items()},
                }


def laws(presets, job: Job) -> Iterator[tuple[str, object]]:
    """What a quantity without a twin must be, or how that follows from the other values; None is unavailable."""
    yield from laws_of_inputs(presets, job)
    covered = job.expected["article_covered"]
    for item in AT_PEAK:
        yield f"{item}_at_peak_gb", job.expected[f"{item}_at_peak_bytes"] / 1e9 if covered else NOT_COVERED if covered == 0 else None
    if covered:
        yield "article_items_at_peak_bytes", job.expected["article_peak_allocated_bytes"]
    if covered is not None:
        yield "accounts_note", lambda values: accounts_note(presets, job, values["accounts_note"])
    yield "ledger_advice", advice(presets, job)


def accounts_note(presets, job: Job, shown: str) -> str | None:
    """What is said of the two accountings; where the article has no figure, what is shown if that gives the reasons and no other."""
    if job.expected["article_covered"]:
        if job.expected["accounts_differ"]:
            return f"Ledger and article differ by more than a tenth, most in {job.expected['main_difference']}."
        return "Ledger and article agree within a tenth."
    family = presets.families[next(model.family for model in presets.models if model.name == job.typed["base_model"])]
    right = str(shown).startswith("The article does not cover") and all((reason in shown) == bool(applies(job.typed, family)) for reason, applies in REASONS.items())
    return shown if right else None


def advice(presets, job: Job) -> str:
    """What the answer strip says beside a verdict; nothing while an input is wrong."""
    constants = presets.constants
    if job.expected["activations_modelled"] == 0:
        return f"{constants['advice_not_modelled'].value}{number(job.expected['held_gb'], 1)}{constants['advice_held'].value}"
    text = {FITS: "advice_fits", TIGHT: "advice_tight", DOES_NOT_FIT: "advice_does_not_fit"}.get(job.expected["fit_verdict"])
    return constants[text].value if text else ""
