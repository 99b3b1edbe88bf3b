"""What the article of the training book covers, and the two facts about precision that its formulas need.

    b   = bytes of a computed element: 2 under BF16 autocast, 4 in FP32
    amp = 1 under BF16 autocast, else 0

The article knows the layers of its own encoder (LayerNorm, two matrices with a ReLU between them, dropout), weights stored in FP32 with
autocast or without, Adam and 8-bit Adam, and attention that never holds the score matrix. Its formulas always count the masks
of dropout, so a model without dropout is not covered. It counts queries, keys and values at the hidden size and does not look at KV heads.

Gradient accumulation, training loop, KV cache, previous output and allocator mode do not exist for it and change nothing.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

AUTOCAST = {"BF16 mixed precision": 1, "As stored, no autocast": 0}
ELEMENT_BYTES = {"BF16 mixed precision": 2, "As stored, no autocast": 4}
COVERED_STORAGE = ("FP32",)
COVERED_OPTIMIZERS = ("Adam", "8-bit Adam")
COVERED_ATTENTION = ("Flash / SDPA",)


def family_is_covered(family: object) -> bool:
    """True for layers with a LayerNorm and an MLP of two matrices and a ReLU: those of the article's encoder."""
    return bool(family.layer_norm and family.relu and not family.gated_mlp)


def dropout(dropout_rate: float | None, family: object) -> float:
    """The share that is dropped out: what was typed (0 included), else the model's own."""
    return family.model_dropout if dropout_rate is None else dropout_rate


def is_covered(
    *,
    storage_precision: str,
    optimizer_choice: str,
    attention_kernel: str,
    dropout_rate: float | None,
    family: object,
) -> bool:
    """True when the article has a formula for every one of these choices."""
    return (
        storage_precision in COVERED_STORAGE
        and optimizer_choice in COVERED_OPTIMIZERS
        and attention_kernel in COVERED_ATTENTION
        and family_is_covered(family)
        and dropout(dropout_rate, family) > 0
    )


def quantities(covered: bool, compute_precision: str) -> dict[str, int]:
    """`article_covered` (1/0), `article_compute_bytes` (b, bytes per element), `article_autocast` (amp, 1/0)."""
    return {
        "article_covered": int(covered),
        "article_compute_bytes": ELEMENT_BYTES[compute_precision],
        "article_autocast": AUTOCAST[compute_precision],
    }
