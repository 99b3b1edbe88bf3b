"""Article line item: the adapter weights.

    adapter weights = 4 Na   bytes

Na is the exact count of adapter parameters (`adapters`); they are held in FP32 whatever the base is stored as.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def adapter_weights_bytes(trainable_parameters: int, bytes_fp32: float) -> float:
    """Bytes of the adapter weights in FP32."""
    return trainable_parameters * bytes_fp32


def quantities(trainable_parameters: int, bytes_fp32: float) -> dict[str, float]:
    """`article_adapter_weights_bytes`."""
    return {"article_adapter_weights_bytes": adapter_weights_bytes(trainable_parameters, bytes_fp32)}
