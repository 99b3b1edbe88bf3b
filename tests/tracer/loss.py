"""A fused loss: the allocations of Liger Kernel's fused linear cross-entropy (0.8.5), whose kernels need a GPU.

The head and the loss run together over chunks of tokens: a chunk's logits, in the type of the hidden states, are turned into
their gradient in place, and multiplied by the head into the gradient of the hidden states, which is kept for backward.
"""
from __future__ import annotations

import torch


def chunk_tokens(tokens: int, hidden: int, vocabulary: int) -> int:
    """Tokens per chunk: such that a chunk's logits are about as large as the hidden states of all tokens."""
    share = -(-tokens // -(-vocabulary // hidden))
    return min(1 << (share - 1).bit_length(), tokens)


class FusedLinearCrossEntropy(torch.autograd.Function):
    """hidden (tokens, d), weight (V, d) -> scalar loss. The weight is frozen."""

    @staticmethod
    def forward(ctx, hidden, weight):
        tokens, width = hidden.shape
        size = chunk_tokens(tokens, width, weight.shape[0])
        gradient = torch.zeros_like(hidden)
        losses = torch.zeros(tokens, dtype=torch.float32)
        in_place = hidden.dtype == weight.dtype and (hidden.dtype == torch.bfloat16 or not torch.is_autocast_enabled("cpu"))
        storage = torch.empty(size, weight.shape[0], dtype=hidden.dtype) if in_place else None
        for start in range(0, tokens, size):
            chunk = hidden[start : start + size]
            if in_place:
                logits = storage[: len(chunk)]
                torch.mm(chunk, weight.t(), out=logits)
                torch.mm(logits, weight, out=gradient[start : start + size])
            else:
                logits = chunk @ weight.t()
                gradient[start : start + size] = logits @ weight
            del logits
        ctx.save_for_backward(gradient)
        return losses.sum()

    @staticmethod
    def backward(ctx, upstream):
        (gradient,) = ctx.saved_tensors  # scaled in place
        return gradient, None
