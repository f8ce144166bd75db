"""Dropout for a CPU, where PyTorch draws its masks on one core, an element from each number.

Each mask comes from a faster generator of NumPy's, two elements from each number; its seed is drawn from
PyTorch's generator, which the engine seeds.
"""

import numpy as np
import torch
from torch import nn


class WordDropout(nn.Module):
    """`nn.Dropout`: zero with probability `p` (to 2^-32) in training, else scaled by 1 / (1 - p)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The features, or those that are kept."""
        if not self.training or self.p == 0:
            return features
        if (dropped := round(self.p * 2**32)) == 2**32:
            return features * 0
        count = features.numel()
        numbers = np.random.SFC64(int(torch.randint(2**63 - 1, ()))).random_raw((count + 1) // 2)
        words = torch.from_numpy(numbers.view(np.int32)[:count])
        kept = words >= dropped - 2**31
        scale = kept.to(features.dtype).mul_(1 / (1 - self.p))
        # In the order of the features in memory: no mask is copied to another layout.
        order = torch.empty_like(features).stride()
        return features * scale.as_strided(features.size(), order)


def use_words(module: nn.Module) -> None:
    """Replace every `nn.Dropout` below a module."""
    for name, child in module.named_children():
        if type(child) is nn.Dropout:
            setattr(module, name, WordDropout(child.p))
        else:
            use_words(child)
