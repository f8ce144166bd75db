"""A transformer encoder that classifies texts, in PyTorch."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Self-attention of several heads.

    Of four dense layers: `nn.MultiheadAttention` keeps three in one array, which the other frameworks do not.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, features: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, words, width), and what is added to the scores of each word."""
        query, key, value = (
            layer(features).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(attended.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and two dense layers word by word, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm_dense = nn.LayerNorm(width)
        self.dense = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, features: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, words, width)."""
        features = features + self.attention(self.norm_attention(features), mask)
        return features + self.dense(self.norm_dense(features))


class TextTransformer(nn.Module):
    """Embedded words and positions, blocks, the mean over the words, a dense layer."""

    def __init__(
        self, length: int, classes: int, vocabulary: int, width: int, blocks: list[nn.Module]
    ) -> None:
        super().__init__()
        self.length = length
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """Logits of (batch, length) word indices, of which 0 is no word."""
        indices = indices[:, -self.length :]
        there = indices != 0
        places = torch.arange(self.length, device=indices.device)
        features = self.words(indices) + self.positions(places)
        weights = there.to(features.dtype)[:, :, None]
        # Added to scores, so that a text without any word has shares, too.
        mask = (weights.transpose(1, 2)[:, None] - 1) * 1e9
        for block in self.blocks:
            features = block(features, mask)
        mean = (self.norm(features) * weights).sum(1) / weights.sum(1).clamp(min=1)
        return self.classifier(mean)


def text_transformer(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    length: int,
    width: int,
    heads: int,
    hidden: int,
    blocks: int,
) -> nn.Module:
    """An encoder of so many blocks over the last `length` words; hidden: units between its dense layers."""
    encoder: list[nn.Module] = [Block(width, heads, hidden) for _ in range(blocks)]
    return TextTransformer(min(length, shape[0]), classes, vocabulary, width, encoder)


MODELS = {"text-transformer": text_transformer}
