"""PyTorch's FSDP2 (`fully_shard`): each worker keeps a part of weights, gradients and optimizer.

The parts of a layer are gathered when it is computed, forward and backward, and its gradients are
averaged into parts. Each worker's running statistics are its own until the epoch ends.
"""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from paragone.engines.torch_workers import TorchWorkers

STRATEGIES = {"fsdp": "one replica each"}
BATCH_NORM = "first"
FEEDS = ("batches", "pinned", "resident")
# No fused optimizer: SGD's fails on parts in PyTorch 2.9.
TUNED = {"cudnn_benchmark": "convolution algorithms chosen by trial"}


class TorchFSDP(TorchWorkers):
    """The eager engine with its model in parts."""

    def place(self, model: nn.Module) -> nn.Module:
        """See `Torch.place`. Weights stay contiguous: `fully_shard` takes no others, channels last, say."""
        model = model.to(self.device, self.dtype)
        mesh = init_device_mesh(self.device.type, (self.devices.workers,))
        for child in model.children():
            if any(True for _ in child.parameters()):
                fully_shard(child, mesh=mesh)
        return fully_shard(model, mesh=mesh, reshard_after_forward=True)

    def whole(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def part_of(self, whole: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        if not isinstance(like, DTensor):
            return whole
        whole = whole.to(self.device)
        # Every worker has the whole: nothing is sent.
        return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return self.part_of(super().add_squares(squares, weight), weight)


ENGINE = TorchFSDP
