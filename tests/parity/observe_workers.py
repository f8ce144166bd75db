"""One worker of a short run that keeps its weights; or the same run computed shard by shard in one process.

    python observe_workers.py <spec> <manifest> <data folder> <output.npz> <rendezvous folder or "shards">

Rank 0 writes the canonical weights after one epoch, "loss" and "accuracy" of training and of evaluation.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from paragone import data, engines
from paragone.base.engine_reports import Metrics
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard, evaluation_batches, noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines.torch import Torch
from paragone.models.initial_weights import initial
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


def start(engine: engines.Engine, spec: Spec) -> None:
    """Load the initial weights."""
    shapes = {name: values.shape for name, values in engine.weights().items()}
    engine.set_weights(initial(shapes, spec, None)[0])


def by_shards(spec: Spec, dataset: Dataset) -> dict:
    """What data parallelism without synchronised batch norm means, written out.

    Each replica's part of a batch goes through the same weights with batch-norm statistics of its own;
    the mean of the gradients is one optimiser step. Statistics: "first/..." and "mean/..." of replicas.
    """
    engine = Torch()
    engine.build(replace(spec, replicas=1, workers=1), dataset, threads=1)
    start(engine, spec)
    engine.model.train()
    for group in engine.optimizer.param_groups:
        group["lr"] = spec.learning_rate(1)
    shards = [Shard(one, one + 1, spec.replicas) for one in range(spec.replicas)]
    kept = [{name: b.clone() for name, b in engine.model.named_buffers()} for _ in shards]
    for inputs, labels in train_batches(dataset, spec, 1):
        engine.optimizer.zero_grad()
        for shard, buffers in zip(shards, kept, strict=True):
            swap(engine.model, buffers)
            part = torch.from_numpy(shard.of(inputs)), torch.from_numpy(shard.of(labels)).long()
            loss = functional.cross_entropy(engine.forward(part[0]), part[1]) / len(shards)
            loss.backward()
            swap(engine.model, buffers)
        engine.optimizer.step()
    found = engine.weights()
    every = []
    for buffers in kept:
        swap(engine.model, buffers)
        every.append(engine.weights())
    for name in [name for name in found if "moving" in name]:
        del found[name]
        found[f"first/{name}"] = every[0][name]
        found[f"mean/{name}"] = np.mean([one[name] for one in every], axis=0)
    return found


@torch.no_grad()
def swap(model: torch.nn.Module, buffers: dict) -> None:
    """Exchange the model's buffers for others."""
    for name, buffer in model.named_buffers():
        before = buffer.clone()
        buffer.copy_(buffers[name])
        buffers[name] = before


def main() -> None:
    """Run the program."""
    text, manifest, folder, output, place = sys.argv[1:]
    spec, dataset = Spec.from_json(text), data.load(Path(manifest), Path(folder))
    if place == "shards":
        np.savez(output, **by_shards(spec, dataset))
        return
    rank, weights, metrics = observe(spec, dataset, Path(place))
    if rank == 0:
        losses = {"loss": [one.loss for one in metrics], "accuracy": [m.accuracy for m in metrics]}
        np.savez(output, **weights, **losses)


if __name__ == "__main__":
    main()
