"""Article line item of the training book: the weights.

    weights = 4 N   bytes

N is all parameters, biases and norms included. They are stored in FP32 under autocast and without it.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def weights_bytes(parameters: int, bytes_fp32: float) -> float:
    """Bytes of `parameters` weights in FP32."""
    return parameters * bytes_fp32


def quantities(parameters: int, bytes_fp32: float) -> dict[str, float]:
    """`article_weights_bytes`."""
    return {"article_weights_bytes": weights_bytes(parameters, bytes_fp32)}
