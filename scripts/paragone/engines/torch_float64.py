"""The parity gate's reference: the PyTorch engine in double precision on one CPU."""

import torch

from paragone.engines.torch import Torch


class TorchFloat64(Torch):
    """As `Torch`, so precise that the deviations of the others are their own."""

    dtype = torch.float64


ENGINE = TorchFloat64
