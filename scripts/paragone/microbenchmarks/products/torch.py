"""Matrix products in PyTorch, eager, on one CPU or CUDA device."""

import numpy as np
import torch

from paragone.engines import torch_devices

_device = torch.device("cpu")


def open_device(kind: str, threads: int) -> str:
    global _device
    torch.set_num_threads(threads)
    _device, name = torch_devices.open_device(kind)
    return name


def put(array: np.ndarray, precision: str) -> torch.Tensor:
    tensor = torch.from_numpy(array).to(_device, getattr(torch, precision))
    wait(tensor)
    return tensor


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def wait(tensor: torch.Tensor) -> None:
    """Wait for the device. On a CPU operators return when they are done."""
    if tensor.is_cuda:
        torch.cuda.synchronize()


def sample(tensor: torch.Tensor, steps: tuple[int, int]) -> np.ndarray:
    return tensor[:: steps[0], :: steps[1]].cpu().double().numpy()
