"""GPT-2 without biases, in PyTorch."""

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional

from paragone.models.torch import Residual


class GptBlock(nn.Module):
    """Causal attention, then two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width, bias=False)
        self.attention = nn.Linear(width, 3 * width, bias=False)  # queries, keys and values
        self.projection = Residual(width, width)
        self.norm_dense = nn.LayerNorm(width, bias=False)
        self.expansion = nn.Linear(width, 4 * width, bias=False)
        self.contraction = Residual(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(batch, length, width)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention(self.norm_attention(features)).chunk(3, -1)
        )
        attended = self._attend(query, key, value).transpose(1, 2).flatten(2)
        features = features + self.dropout(self.projection(attended))
        hidden = functional.gelu(self.expansion(self.norm_dense(features)))
        return features + self.dropout(self.contraction(hidden))

    def _attend(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Causal attention of (batch, heads, length, width of a head) to as much."""
        if not (torch.compiler.is_compiling() and query.dtype == torch.float64):
            dropped = self.dropout.p if self.training else 0.0
            attend = partial(
                functional.scaled_dot_product_attention, dropout_p=dropped, is_causal=True
            )
            if query.device.type != "cpu" or query.dtype != torch.bfloat16:
                return attend(query, key, value)
            # In bfloat16 its backward pass on a CPU takes three times as long (PyTorch 2.9).
            with torch.autocast("cpu", enabled=False):
                return attend(query.float(), key.float(), value.float()).to(query.dtype)
        # Compiled, PyTorch 2.9 cannot differentiate its own function in double precision.
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        ahead = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        return self.dropout(scores.masked_fill(ahead, -math.inf).softmax(-1)) @ value


class Gpt(nn.Module):
    """Embedded tokens and positions, blocks, a norm, and the embedding of tokens as output layer."""

    def __init__(
        self, length: int, vocabulary: int, layers: int, heads: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(GptBlock(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits, (batch, length, vocabulary), of (batch, length) tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        features = self.dropout(self.tokens(tokens) + self.positions(places))
        return functional.linear(self.norm(self.blocks(features)), self.tokens.weight)


def gpt(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    layers: int,
    heads: int,
    width: int,
    dropout: float,
) -> nn.Module:
    """GPT-2 without biases, for windows of shape (length,); `classes` are the tokens themselves."""
    return Gpt(shape[0], vocabulary, layers, heads, width, dropout)


MODELS = {"gpt": gpt}
