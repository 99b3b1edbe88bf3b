"""Draws jobs at random over every modelled family and every choice that the ledger covers, small enough to trace in seconds."""
from __future__ import annotations

from random import Random

from builder.reference.adapters import CUSTOM, PROJECTIONS

LAYERS = 12
RANKS = (4, 8, 16, 32, 64, 128, 256)
BATCHES = (1, 1, 2, 4, 8)
SHORTEST, LONGEST, LONGEST_EAGER = 7, 13, 11.5  # powers of two, in tokens of one sequence
# A choice that sets what is reserved, not what a step allocates.
FIXED = ("allocator_mode",)


def modelled(presets) -> list[str]:
    """The families whose activations the ledger knows."""
    return sorted(slug for slug, family in presets.families.items() if family.activations_modelled)


def draw(presets, random: Random, family: str | None = None) -> dict[str, object]:
    """The inputs of a job: a model of the family, or of one drawn first, with its real widths and at most LAYERS layers."""
    family = family or random.choice(modelled(presets))
    model = random.choice([model for model in presets.models if model.family == family])
    typed: dict[str, object] = {"base_model": model.name}
    for spec in presets.inputs:
        if spec.kind == "choice" and spec.name not in FIXED:
            typed[spec.name] = random.choice([choice.name for choice in spec.choices])
    if typed["lora_targets"] == CUSTOM:
        there = [name for name in PROJECTIONS if name != "gate" or presets.families[family].gated_mlp]
        typed[f"target_{random.choice(there)}"] = "Yes"
    layers = min(model.shape.layers, random.randint(LAYERS // 2, LAYERS))
    eager = typed["attention_kernel"] == "Eager" or presets.families[family].eager_only
    batch = random.choice(BATCHES)
    fewest = 2 if presets.families[family].parallel_mlp else 1  # a lone layer with an MLP beside attention is up to 9% off: README
    return typed | {
        "layers_override": layers,
        "adapter_top_layers": random.randint(fewest, layers) if random.random() < 0.3 else None,
        "lora_rank": random.choice(RANKS),
        "lora_dropout": random.choice([0, 0, 0.1]),
        "batch_size": batch,
        "sequence_length": int(2 ** random.uniform(SHORTEST, LONGEST_EAGER if eager else LONGEST) / batch**0.5),
    }
