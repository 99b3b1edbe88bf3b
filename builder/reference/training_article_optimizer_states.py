"""Article line item of the training book: the optimizer states.

    optimizer states = 8 N under Adam (two FP32 moments), 2 N under 8-bit Adam (two one-byte moments)   bytes

N is all parameters. FP32 weights need no master copy of their own.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

STATE_BYTES_PER_PARAMETER = {"Adam": 8, "8-bit Adam": 2}


def optimizer_states_bytes(parameters: int, optimizer_choice: str) -> int:
    """Bytes of the optimizer's two moments of every parameter."""
    return parameters * STATE_BYTES_PER_PARAMETER[optimizer_choice]


def quantities(parameters: int, optimizer_choice: str) -> dict[str, int]:
    """`article_optimizer_states_bytes`."""
    return {"article_optimizer_states_bytes": optimizer_states_bytes(parameters, optimizer_choice)}
