"""PyTorch/XLA's multi-process mode: one process per TPU chip, gradients averaged by `xm.reduce_gradients`.

This follows docs/source/learn/pjrt.md of pytorch/xla for torchrun, whose variables are set here. On a CPU it
works with one replica only, as the all-reduce of several never completes in torch_xla 2.9. Batch norm
normalizes each replica's part of the batch; running statistics are the mean over replicas.
"""

import os

import numpy as np
import torch
import torch_xla
import torch_xla.distributed.xla_backend  # registers the backend "xla" and `xla://`
from torch import distributed
from torch_xla import runtime
from torch_xla._internal import tpu
from torch_xla.core import xla_model

from paragone.base.engine_reports import Devices, Metrics, World
from paragone.base.errors import Unavailable
from paragone.config.run_spec import Spec
from paragone.data.batches import Shard
from paragone.engines.torch import Torch
from paragone.engines.torch_xla import TorchXLA, choose


class TorchXLAMultiprocess(TorchXLA):
    """The lazy engine on one device of this process, without a mesh."""

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's chip; `threads` is set by the process's affinity."""
        kind = spec.backend.device
        present = {"cpu": 1, "tpu": tpu.num_available_chips()}.get(kind, 0)
        if world.local_workers > present:
            raise Unavailable(
                f"{world.local_workers} replica(s) on {kind} asked for on one host; PyTorch/XLA finds "
                f"{present} in its multi-process mode"
            )
        choose(kind)
        if world.workers > 1:
            # The variables that torchrun would set.
            host, port = world.address(0)
            os.environ |= {
                "TORCHELASTIC_RUN_ID": "paragone",
                "RANK": str(world.rank),
                "WORLD_SIZE": str(world.workers),
                "LOCAL_RANK": str(world.local_rank),
                "LOCAL_WORLD_SIZE": str(world.local_workers),
                "MASTER_ADDR": host,
                "MASTER_PORT": str(port),
            }
            distributed.init_process_group("xla", init_method="xla://")
        device = torch_xla.device()
        self.devices = Devices(kind, runtime.world_size(), runtime.world_size())
        self.device_names = [xla_model.xla_device_hw(device)]
        self.shard = Shard(world.rank, world.rank + 1, world.workers)
        return device

    def put(self, array: np.ndarray) -> torch.Tensor:
        return Torch.put(self, array)

    def reduce_gradients(self) -> None:
        """Average the gradients over replicas."""
        xla_model.reduce_gradients(self.optimizer)

    def per_replica(self, total: torch.Tensor) -> torch.Tensor:
        return xla_model.all_reduce(xla_model.REDUCE_SUM, total, scale=1 / self.devices.workers)

    def end_of_epoch(self) -> None:
        """Give every replica the mean over replicas of the batch-norm statistics."""
        statistics = [buffer for buffer in self.model.buffers() if buffer.is_floating_point()]
        xla_model.all_reduce(xla_model.REDUCE_SUM, statistics, scale=1 / self.devices.workers)
        self.end_of_step()

    def metrics(self, totals: torch.Tensor) -> Metrics:
        xla_model.all_reduce(xla_model.REDUCE_SUM, [totals])
        self.end_of_step()
        return Torch.metrics(self, totals)


ENGINE = TorchXLAMultiprocess
