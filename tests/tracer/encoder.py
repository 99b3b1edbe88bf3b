"""The article's encoder: an embedding, fixed sinusoidal positions, PyTorch's own encoder layers, and a head with a bias."""
from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Encoder(nn.Module):
    """Pre-norm layers of ReLU MLPs, no final norm. The positions are a buffer, FP32 until the model is turned to another type, as many as the sequence has tokens."""

    def __init__(self, shape, sequence: int, dropout: float, checkpointing: bool):
        super().__init__()
        self.checkpointing = checkpointing
        self.embed = nn.Embedding(shape.vocabulary, shape.hidden_size)
        self.register_buffer("positions", torch.zeros(sequence, shape.hidden_size), persistent=False)
        one = {"d_model": shape.hidden_size, "nhead": shape.heads, "dim_feedforward": shape.feed_forward, "dropout": dropout}
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(**one, batch_first=True, norm_first=True) for _ in range(shape.layers))
        self.head = nn.Linear(shape.hidden_size, shape.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Token ids -> logits."""
        x = self.embed(tokens) + self.positions[: tokens.shape[1]].unsqueeze(0)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointing else layer(x)
        return self.head(x)
