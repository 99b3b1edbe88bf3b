"""Article line item of the training book: the gradients.

    gradients = 4 N   bytes

N is all parameters; each has one gradient of its own type, FP32. Accumulating gradients over several micro-batches changes
nothing here: what it saves in the article is the smaller micro-batch.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def gradients_bytes(parameters: int, bytes_fp32: float) -> float:
    """Bytes of the gradients of `parameters` weights in FP32."""
    return parameters * bytes_fp32


def quantities(parameters: int, bytes_fp32: float) -> dict[str, float]:
    """`article_gradients_bytes`."""
    return {"article_gradients_bytes": gradients_bytes(parameters, bytes_fp32)}
