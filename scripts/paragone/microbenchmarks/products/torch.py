"""Matrix products in PyTorch, eager, on one CPU or CUDA device."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from paragone.base.errors import Unavailable, first_line, says_memory_is_full
from paragone.engines import torch_devices
from paragone.microbenchmarks.products import OutOfMemory

_device = torch.device("cpu")


def open_device(kind: str, threads: int) -> str:
    """See `microbenchmarks.products`."""
    global _device
    torch.set_num_threads(threads)
    _device, name = torch_devices.open_device(kind)
    return name


def put(array: np.ndarray, precision: str) -> torch.Tensor:
    """See `microbenchmarks.products`."""
    with failures():
        tensor = torch.from_numpy(array).to(_device, getattr(torch, precision))
        wait(tensor)
    return tensor


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """See `microbenchmarks.products`."""
    with failures():
        return a @ b


def wait(tensor: torch.Tensor) -> None:
    """See `microbenchmarks.products`. On a CPU operators return when they are done."""
    if tensor.is_cuda:
        torch.cuda.synchronize()


def sample(tensor: torch.Tensor, steps: tuple[int, int]) -> np.ndarray:
    """See `microbenchmarks.products`."""
    return tensor[:: steps[0], :: steps[1]].cpu().double().numpy()


@contextmanager
def failures() -> Iterator[None]:
    """Tell apart what PyTorch and PyTorch/XLA raise as one RuntimeError; anything else passes."""
    try:
        yield
    except RuntimeError as error:
        text = first_line(error)
        if says_memory_is_full(text):
            raise OutOfMemory(text) from error
        if "not implemented" in text or "UNIMPLEMENTED" in text:
            raise Unavailable(text) from error
        raise
