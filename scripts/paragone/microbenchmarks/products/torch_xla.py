"""Matrix products in PyTorch/XLA on one PJRT device."""

import numpy as np
import torch
import torch_xla
from torch_xla.core import xla_model

from paragone.engines import torch_xla_devices
from paragone.microbenchmarks.products.torch import sample  # noqa: F401 - the function of this module, too


def open_device(kind: str, threads: int) -> str:
    """Open the device; `threads` is set by the process's affinity."""
    return torch_xla_devices.open_device(kind)[1]


def put(array: np.ndarray, precision: str) -> torch.Tensor:
    tensor = torch.from_numpy(array).to(getattr(torch, precision)).to(torch_xla.device())
    torch_xla.sync(wait=True)
    return tensor


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Start a product. What is only traced is never computed: hand it over at once."""
    product = a @ b
    torch_xla.sync()
    return product


def wait(tensor: torch.Tensor) -> None:
    xla_model.wait_device_ops()
