"""Draws training jobs at random over every modelled family and every choice that the ledger covers, small enough to trace in seconds."""
from __future__ import annotations

from random import Random

from builder.reference.shape import DIMENSIONS
from builder.reference.training_job import TrainingJob, job_of

LAYERS = (3, 8)
BATCHES = (1, 1, 2, 4, 8, 32)
SHORTEST, LONGEST, LONGEST_EAGER = 7, 13, 11.5  # powers of two, in tokens of one sequence
PRECISIONS = (("FP32", "BF16 mixed precision"), ("FP32", "As stored, no autocast"), ("BF16", "As stored, no autocast"))
OPTIMIZERS = ("Adam", "Adam fused", "8-bit Adam", "SGD", "SGD momentum", "Adafactor")
ENCODER_WIDTHS, ENCODER_FACTORS, ENCODER_HEAD, ENCODER_VOCABULARIES = (512, 768, 1024, 2048, 4096), (3, 4, 4, 8), (64, 128), (1000, 8000, 32000)
CARD = "H100 SXM 80GB"


def modelled(presets) -> list[str]:
    """The families whose full training the ledger knows."""
    return sorted(slug for slug, family in presets.families.items() if family.training_modelled)


def draw(presets, random: Random, family: str | None = None) -> dict[str, object]:
    """The inputs of a job: a model of the family, or of one drawn first, with its real widths and few layers."""
    family = family or random.choice(modelled(presets))
    model = random.choice([model for model in presets.models if model.family == family])
    storage, compute = random.choice(PRECISIONS)
    encoder = presets.families[family].sinusoidal_positions
    kernel = random.choice(["Flash / SDPA", "Flash / SDPA", "Eager"]) if not encoder else "Flash / SDPA"
    batch = random.choice(BATCHES)
    longest = LONGEST_EAGER if kernel == "Eager" else LONGEST
    typed: dict[str, object] = {
        "base_model": model.name,
        "layers_override": random.randint(*LAYERS),
        "storage_precision": storage,
        "compute_precision": compute,
        "optimizer_choice": random.choice(OPTIMIZERS),
        "gradient_accumulation_steps": random.choice([1, 1, 4]),
        "batch_size": batch,
        "sequence_length": int(2 ** random.uniform(SHORTEST, longest) / batch**0.5),
        "activation_checkpointing": random.choice(["On", "Off"]),
        "attention_kernel": kernel,
        "dropout_rate": random.choice([None, None, 0.1, 0]),
        "training_loop": random.choice(["Plain loop", "Hugging Face Trainer"]),
        "keeps_kv_cache": random.choice(["By loop", "Yes", "No"]),
        "keeps_previous_output": random.choice(["By loop", "Yes", "No"]),
    }
    return typed | (encoder_shape(random) if encoder else {})


def encoder_shape(random: Random) -> dict[str, int]:
    """Widths of an encoder."""
    hidden, head = random.choice(ENCODER_WIDTHS), random.choice(ENCODER_HEAD)
    return {
        "hidden_size_override": hidden, "heads_override": hidden // head, "kv_heads_override": hidden // head, "head_dim_override": head,
        "feed_forward_override": hidden * random.choice(ENCODER_FACTORS), "vocabulary_override": random.choice(ENCODER_VOCABULARIES),
    }


def job(presets, typed: dict[str, object]) -> TrainingJob:
    """The job of drawn inputs; inputs that are not drawn are blank or at their default."""
    model = next(model for model in presets.models if model.name == typed["base_model"])
    card = next(card for card in presets.cards if card.name == CARD)
    blank = {f"{dimension}_override": None for dimension in DIMENSIONS}
    blank |= {"parameters_override": None, "allocator_mode": "Default", "gpu_capacity_override_gb": None, "memory_already_used_gb": None}
    return job_of(blank | typed, model, presets.families[model.family], card)
