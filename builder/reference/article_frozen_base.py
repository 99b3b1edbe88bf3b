"""Article line item: the frozen base weights.

    frozen base = N x (4, 2, 1, 0.5 for FP32, BF16, INT8, INT4)   bytes

N is all parameters of the base. Both kinds of NF4 count as the article's INT4: half a byte for every parameter,
embeddings and norms included, with no quantisation constants.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

BYTES_PER_PARAMETER = {"FP32": 4, "BF16": 2, "INT8": 1, "NF4": 0.5, "NF4 double-quantised": 0.5}


def frozen_base_bytes(parameters: int, base_storage: str) -> float:
    """Bytes of `parameters` weights stored as `base_storage`."""
    return parameters * BYTES_PER_PARAMETER[base_storage]


def quantities(parameters: int, base_storage: str) -> dict[str, float]:
    """`article_base_bytes_per_parameter` and `article_frozen_base_bytes`."""
    return {
        "article_base_bytes_per_parameter": BYTES_PER_PARAMETER[base_storage],
        "article_frozen_base_bytes": frozen_base_bytes(parameters, base_storage),
    }
