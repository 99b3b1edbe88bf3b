"""What the article covers, and the two facts about precision that its formulas need.

    b   = bytes of a computed element: 2 under BF16 autocast, 4 in FP32
    amp = 1 under BF16 autocast, else 0

The article knows Llama-like layers, Adam and 8-bit Adam, attention that never holds the score matrix, full logits, FP32 adapters, and two
precisions: BF16 autocast over a base stored in any way, and plain FP32 (no autocast, an FP32 base). k-bit preparation,
KV cache, previous output, training loop and allocator mode do not exist for it and change nothing.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

AUTOCAST = {"BF16 mixed precision": 1, "As stored, no autocast": 0}
ELEMENT_BYTES = {"BF16 mixed precision": 2, "As stored, no autocast": 4}
COVERED_OPTIMIZERS = ("Adam", "8-bit Adam")
COVERED_ATTENTION = ("Flash / SDPA",)
COVERED_LOSSES = ("Full logits",)
COVERED_ADAPTER_DTYPES = ("FP32",)


def precision_is_covered(compute_precision: str, base_storage: str) -> bool:
    """True under autocast with any base, and without autocast when the base is FP32."""
    return AUTOCAST[compute_precision] == 1 or base_storage == "FP32"


def is_covered(
    *,
    base_storage: str,
    compute_precision: str,
    adapter_dtype: str,
    optimizer_choice: str,
    attention_kernel: str,
    loss_kernel: str,
    family: object,
) -> bool:
    """True when the article has a formula for every one of these choices."""
    return (
        precision_is_covered(compute_precision, base_storage)
        and adapter_dtype in COVERED_ADAPTER_DTYPES
        and optimizer_choice in COVERED_OPTIMIZERS
        and attention_kernel in COVERED_ATTENTION
        and loss_kernel in COVERED_LOSSES
        and family.article_covers
    )


def quantities(covered: bool, compute_precision: str) -> dict[str, int]:
    """`article_covered` (1/0), `article_compute_bytes` (b, bytes per element), `article_autocast` (amp, 1/0)."""
    return {
        "article_covered": int(covered),
        "article_compute_bytes": ELEMENT_BYTES[compute_precision],
        "article_autocast": AUTOCAST[compute_precision],
    }
