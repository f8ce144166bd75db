"""An epoch of the PyTorch engine on CUDA with every feed; any wait for the device inside it is an error.

    python observe_engine_on_cuda.py <workload> <feed> <output.npz>

Writes the canonical weights after the epoch.
"""

import sys

import numpy as np
import torch
from made_images import make_images
from workspace import changed, make_spec

from paragone.base.engine_reports import Metrics
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines.torch import Torch
from paragone.models.weights import starting


class Watched(Torch):
    """The engine, which may wait where it reads the totals and nowhere else."""

    def metrics(self, totals: torch.Tensor) -> Metrics:
        """See `Torch.metrics`."""
        torch.cuda.set_sync_debug_mode("default")
        return super().metrics(totals)


def main() -> None:
    """Run the program."""
    workload, feed, output = sys.argv[1:]
    dataset = make_images()
    spec = make_spec(workload, "torch", global_batch=16, steps_per_epoch=4)
    spec = changed(spec, backend={"device": "gpu", "feed": feed})
    engine = Watched()
    engine.build(spec, dataset, 1)
    engine.set_weights(starting(engine.weights(), spec, None)[0])
    engine.warm_up(spec.learning_rates(1, 1)[0], *noise_batches(dataset, spec))
    for _ in range(2):
        torch.cuda.set_sync_debug_mode("error")
        engine.train_epoch(0, spec.learning_rates(1, 4), train_batches(dataset, spec, 1), 4)
    torch.cuda.set_sync_debug_mode("error")
    engine.evaluate(evaluation_batches(dataset, spec), 1)
    np.savez(output, **engine.weights())


if __name__ == "__main__":
    main()
