"""Article line item: the autocast weight cache, BF16 copies of the FP32 weights.

    autocast cache = amp x 2 x (N + Na if the base is FP32, else Na)   bytes

The adapters are always FP32, so always cached; the base only when it is stored in FP32. Without autocast there is none.
N and Na are the parameters of base and adapters.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

BYTES_BF16 = 2


def autocast_cache_bytes(parameters: int, trainable_parameters: int, base_storage: str, autocast: int) -> int:
    """Bytes of the BF16 copies that autocast keeps."""
    cached = parameters + trainable_parameters if base_storage == "FP32" else trainable_parameters
    return autocast * BYTES_BF16 * cached


def quantities(parameters: int, trainable_parameters: int, base_storage: str, autocast: int) -> dict[str, int]:
    """`article_autocast_cache_bytes`."""
    return {
        "article_autocast_cache_bytes": autocast_cache_bytes(parameters, trainable_parameters, base_storage, autocast)
    }
