"""Measurements inside one process, on one engine; benchmarks/engines_alone.py starts a process for each.

    python inside.py epoch <specification> <manifest> <data folder> <rounds>
    python inside.py evaluation <specification> <manifest> <data folder> <rounds>
    python inside.py memory <specification> <manifest> <data folder>

Prints JSON in its last line: pairs of seconds, or bytes.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterable
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rows import in_turn

from paragone import data, engines
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines import Engine

BATCHES = (128, 256, 500, 1000, 2500, 10000)  # of which the best evaluates
STEPS = 100


def built(spec: Spec, dataset: Dataset) -> Engine:
    """The engine, compiled."""
    engine = engines.create(spec)
    engine.build(spec, dataset, 2)
    engine.warm_up(spec.learning_rate(1), *noise_batches(dataset, spec, engine.shard))
    return engine


def epoch(spec: Spec, dataset: Dataset, rounds: int) -> list[tuple[float, ...]]:
    """Seconds of so many steps, and of as many over one batch that is on the device."""
    engine = built(spec, dataset)
    batch = next(train_batches(dataset, spec, 1, engine.shard))

    def whole(feed: Callable[[], Iterable[tuple]]) -> float:
        begun = time.perf_counter()
        engine.train_epoch(1, spec.learning_rate(1), feed(), STEPS)
        return time.perf_counter() - begun

    def drawn() -> float:
        return whole(lambda: islice(train_batches(dataset, spec, 1, engine.shard), STEPS))

    def fixed() -> float:
        with_batch, undo = on_device(engine, batch)
        try:
            return whole(lambda: with_batch)
        finally:
            undo()

    drawn(), fixed()
    return in_turn(rounds, drawn, fixed)


def on_device(engine: Any, batch: tuple) -> tuple[Iterable[tuple], Callable[[], None]]:
    """Batches that cost nothing, for one epoch, and what brings the engine's own feed back.

    The ways by which the engines take batches are private to them: this is where a benchmark may look.
    """
    name = {"feed", "_train_pipeline", "_put"} & {*dir(engine)}
    if "feed" in name:
        own, tensors = engine.feed, tuple(map(engine.put, batch))
        engine.feed = lambda batches, split: repeat(tensors, STEPS)
        return (), lambda: setattr(engine, "feed", own)
    if "_train_pipeline" in name:
        import tensorflow as tf

        own = engine._train_pipeline
        options = own.options()  # without autotuning, as the engine's
        tensors = tf.data.Dataset.from_tensors(tuple(map(tf.constant, batch)))
        engine._train_pipeline = tensors.repeat().prefetch(2).with_options(options)
        return (), lambda: setattr(engine, "_train_pipeline", own)
    placed, own = engine._put(batch), engine._put
    engine._put = lambda one: one
    return repeat(placed, STEPS), lambda: setattr(engine, "_put", own)


def evaluation(spec: Spec, dataset: Dataset, rounds: int) -> dict[str, Any]:
    """Seconds of an evaluation, and of forward passes over the same examples at the best batch."""
    engine = built(spec, dataset)
    tests = math.ceil(len(dataset.test_labels) / spec.evaluation_batch)

    def evaluate() -> float:
        begun = time.perf_counter()
        engine.evaluate(evaluation_batches(dataset, spec, engine.shard), tests)
        return time.perf_counter() - begun

    forward = forward_pass(engine)
    inputs = np.array(dataset.test_inputs)

    def passes(size: int) -> float:
        begun = time.perf_counter()
        for start in range(0, len(inputs), size):
            forward(inputs[start : start + size])
        return time.perf_counter() - begun

    for size in BATCHES:
        passes(size)  # compiles
    seconds = {size: passes(size) for size in BATCHES}
    best = min(seconds, key=lambda size: seconds[size])
    evaluate()
    return {"batch": best, "pairs": in_turn(rounds, evaluate, lambda: passes(best))}


def forward_pass(engine: Any) -> Callable[[np.ndarray], None]:
    """Logits and nothing else, waiting for the device."""
    if hasattr(engine, "feed"):
        import torch

        def forward(inputs: np.ndarray) -> None:
            engine.model.eval()
            with torch.inference_mode():
                engine.forward(engine.put(inputs))

        return forward
    import tensorflow as tf

    compiled = tf.function(lambda inputs: engine._logits(inputs, training=False))
    return lambda inputs: compiled(tf.constant(inputs)).numpy()


def memory(spec: Spec, dataset: Dataset) -> int:
    """Bytes of its own that a process has more after reading all training batches.

    Pages of files as they are on disk are the system's, whichever processes have mapped them.
    """
    before = own()
    for inputs, _ in train_batches(dataset, spec, 1):
        inputs.sum()
    return own() - before


def own() -> int:
    """Bytes of this process that are of no file, or that it has changed."""
    return sum(part.private_dirty for part in psutil.Process().memory_maps())


def main() -> None:
    """Run the measurement."""
    what, text, manifest, folder, *rounds = sys.argv[1:]
    dataset = data.load(Path(manifest), Path(folder))
    measure: dict[str, Callable[..., Any]] = {
        "epoch": epoch,
        "evaluation": evaluation,
        "memory": memory,
    }
    print(json.dumps(measure[what](Spec.from_json(text), dataset, *map(int, rounds))))


if __name__ == "__main__":
    main()
