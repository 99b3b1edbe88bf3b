"""Article line item: the optimizer states.

    optimizer states = 8 Na under Adam (two FP32 moments), 2 Na under 8-bit Adam (two one-byte moments)   bytes

Na is the count of adapter parameters.

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

STATE_BYTES_PER_PARAMETER = {"Adam": 8, "8-bit Adam": 2}


def optimizer_states_bytes(trainable_parameters: int, optimizer_choice: str) -> float:
    """Bytes of the optimizer's two moments of every adapter parameter."""
    return trainable_parameters * STATE_BYTES_PER_PARAMETER[optimizer_choice]


def quantities(trainable_parameters: int, optimizer_choice: str) -> dict[str, float]:
    """`article_optimizer_states_bytes`."""
    return {"article_optimizer_states_bytes": optimizer_states_bytes(trainable_parameters, optimizer_choice)}
