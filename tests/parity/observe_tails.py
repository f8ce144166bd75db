"""Observe how long one backend's epochs go on after their work: a program, as observe_engine.py is.

    python observe_tails.py <backend> <replicas> <manifest> <data folder>

Prints one JSON object: per epoch, the seconds from when the last batch was handed over until the epoch
returned. The batches come slowly, so that an epoch is mostly waiting and its last step is short.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from observe_engine import Lab

from paragone import data
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed

EPOCHS, LASTS = 4, 1.4  # seconds


def main() -> None:
    """Run the program."""
    backend, replicas, manifest, folder = sys.argv[1:]
    lab = Lab("fashion-cnn", backend, int(replicas), data.load(Path(manifest), Path(folder)))
    engine = lab.fresh()
    lab.train(engine, 1)  # compiles
    tails, handed_over = [], 0.0

    def slow(batches: Iterator[tuple]) -> Iterator[tuple]:
        nonlocal handed_over
        for batch in batches:
            time.sleep(LASTS / lab.spec.steps_per_epoch)
            handed_over = time.perf_counter()
            yield batch

    for epoch in range(2, 2 + EPOCHS):
        batches = slow(train_batches(lab.dataset, lab.spec, epoch, engine.shard))
        seed = framework_seed(lab.spec.seed, epoch)
        engine.train_epoch(seed, lab.spec.learning_rate(epoch), batches, lab.spec.steps_per_epoch)
        tails.append(time.perf_counter() - handed_over)
    print(json.dumps({"tails": tails}))


if __name__ == "__main__":
    main()
