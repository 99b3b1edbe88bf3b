"""Article line item of the training book: the autocast weight cache, BF16 copies of the FP32 weights.

    weight cache = amp x 2 N   bytes

N is all parameters, amp 1 under autocast and else 0. The text of the article releases it before the peak; its formulas count it in
the sum without checkpointing, and with checkpointing in the forward pass.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

BYTES_BF16 = 2


def weight_cache_bytes(parameters: int, autocast: int) -> int:
    """Bytes of the BF16 copies that autocast keeps; 0 without autocast."""
    return autocast * BYTES_BF16 * parameters


def quantities(parameters: int, autocast: int) -> dict[str, int]:
    """`article_weight_cache_bytes`."""
    return {"article_weight_cache_bytes": weight_cache_bytes(parameters, autocast)}
