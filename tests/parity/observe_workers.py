"""One worker of a short run that keeps its weights; or the same run by the reference, in one process.

    python observe_workers.py <spec> <manifest> <data folder> <output.npz> <rendezvous, "mean" or "first">

Rank 0 writes the canonical weights after one epoch, "loss" and "accuracy" of training and of evaluation.
"""

import sys
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from paragone import data, engines
from paragone.base.engine_reports import Metrics
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines.reference import Reference
from paragone.models.weights import initial
from paragone.workers.rendezvous import Rendezvous


def observe(spec: Spec, dataset: Dataset, meeting: Path) -> tuple[int, dict, list[Metrics]]:
    """Rank, weights and metrics of this worker, through the engine as the loop drives it."""
    rendezvous = Rendezvous(meeting, spec.workers, timeout=120)
    world = rendezvous.join()
    engine = engines.create(spec)
    rendezvous.meet("devices", {})
    engine.build(spec, dataset, 1, world)
    start(engine, spec)
    engine.warm_up(spec.learning_rate(1), *noise_batches(dataset, spec, engine.shard))
    batches = train_batches(dataset, spec, 1, engine.shard)
    seed, rate = framework_seed(spec.seed, 1), spec.learning_rate(1)
    during = engine.train_epoch(seed, rate, batches, spec.steps_per_epoch)
    tests = -(-len(dataset.test_labels) // spec.evaluation_batch)
    after = engine.evaluate(evaluation_batches(dataset, spec, engine.shard), tests)
    weights = engine.weights()
    rendezvous.meet("end", {})
    return world.rank, weights, [during, after]


def start(engine: engines.Engine | Reference, spec: Spec) -> None:
    """Load the initial weights."""
    shapes = {name: values.shape for name, values in engine.weights().items()}
    engine.set_weights(initial(shapes, spec, None)[0])


def by_reference(spec: Spec, dataset: Dataset, statistics: str) -> dict:
    """The weights after the epoch by the parity gate's reference; statistics: its strategy."""
    backend = {"name": "reference", "engine": "reference", "strategy": statistics, "device": "cpu"}
    engine = Reference()
    engine.build(replace(spec, backend=backend, workers=1), dataset, threads=1)
    start(engine, spec)
    batches = train_batches(dataset, spec, 1)
    engine.train_epoch(0, spec.learning_rate(1), batches, spec.steps_per_epoch)
    return engine.weights()


def main() -> None:
    """Run the program."""
    text, manifest, folder, output, place = sys.argv[1:]
    spec, dataset = Spec.from_json(text), data.load(Path(manifest), Path(folder))
    if place in ("mean", "first"):
        np.savez(output, **by_reference(spec, dataset, place))
        return
    rank, weights, metrics = observe(spec, dataset, Path(place))
    if rank == 0:
        losses = {"loss": [one.loss for one in metrics], "accuracy": [m.accuracy for m in metrics]}
        np.savez(output, **weights, **losses)


if __name__ == "__main__":
    main()
