"""Article line item: the matrix-multiply workspace, the one term that the article fitted.

    workspace = (4.316 + 1.871 Lb) x 4x bytes without checkpointing, 0 with it

x = B S d elements, Lb layers from the shallowest adapter up, so 4x is one FP32 hidden-wide tensor. The two numbers are a
least-squares fit to runs on one H100; the presets hold them (article_workspace_base, article_workspace_per_layer).

Source: the published fine-tuning formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations


def workspace_tensors(base: float, per_layer: float, layers: int) -> float:
    """How many FP32 hidden-wide tensors the workspace is worth; `layers` is Lb."""
    return base + per_layer * layers


def matmul_workspace_bytes(tensors: float, boundary_bytes: float, checkpointing: bool) -> float:
    """Bytes of the workspace; `boundary_bytes` is the 4x of one FP32 hidden-wide tensor."""
    return 0 if checkpointing else tensors * boundary_bytes


def quantities(
    *, base: float, per_layer: float, layers: int, boundary_bytes: float, checkpointing: bool
) -> dict[str, float]:
    """`article_workspace_tensors` and `article_matmul_workspace_bytes`."""
    tensors = workspace_tensors(base, per_layer, layers)
    return {
        "article_workspace_tensors": tensors,
        "article_matmul_workspace_bytes": matmul_workspace_bytes(tensors, boundary_bytes, checkpointing),
    }
