"""Article line item: the gradients, of the adapters only.

    gradients = 4 Na   bytes

The frozen base has none. Na is the count of adapter parameters; a gradient has its parameter's type, FP32.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def gradients_bytes(trainable_parameters: int, bytes_fp32: float) -> float:
    """Bytes of the adapter gradients in FP32."""
    return trainable_parameters * bytes_fp32


def quantities(trainable_parameters: int, bytes_fp32: float) -> dict[str, float]:
    """`article_gradients_bytes`."""
    return {"article_gradients_bytes": gradients_bytes(trainable_parameters, bytes_fp32)}
