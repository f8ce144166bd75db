"""PyTorch's FSDP2 (`fully_shard`): each worker keeps a shard of weights, gradients and optimizer state.

The shards of a layer are gathered when it is computed, forward and backward, and its gradients are averaged
into shards. Each worker has its own running statistics until the epoch ends.
"""

from collections.abc import Iterator

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from paragone.engines.torch_ddp import TorchWorkers


class TorchFSDP(TorchWorkers):
    """The eager engine with a sharded model."""

    def place(self, model: nn.Module) -> nn.Module:
        """Weights stay contiguous, since `fully_shard` accepts no other memory format."""
        model = model.to(self.device, self.dtype)
        mesh = init_device_mesh(self.device.type, (self.devices.workers,))
        for layer in _layers(model):
            if any(True for _ in layer.parameters()):
                fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh, reshard_after_forward=True)

    def unshard(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def shard_like(self, full: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        if not isinstance(like, DTensor):
            return full
        full = full.to(self.device)
        # Every worker has the full tensor, so nothing is sent.
        return distribute_tensor(full, like.device_mesh, like.placements, src_data_rank=None)

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return self.shard_like(super().add_squares(squares, weight), weight)


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """Yield what is gathered on its own: the items of the outermost sequences and lists of modules.

    All other weights are gathered for a whole pass, because the model itself may use them, too: the embedding
    of a language model is its output layer.
    """
    if isinstance(module, nn.Sequential | nn.ModuleList):
        yield from module
    else:
        for child in module.children():
            yield from _layers(child)


ENGINE = TorchFSDP
