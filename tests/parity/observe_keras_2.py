"""Judge Keras 2's own NAdam, which TensorFlow still contains, in the engine `tensorflow`.

    python observe_keras_2.py <data folder> <manifest of the data set> <reference>

Prints the largest deviation of an update from that of the reference. A program, since a process sets
TensorFlow's precision once.
"""

import sys
from pathlib import Path
from typing import Any

from parity.protocols import CONFIGURED
from tensorflow.python.keras.optimizer_v2.nadam import Nadam
from workspace import config_of

from paragone import data
from paragone.config.expand import probe
from paragone.engines.tensorflow import TensorFlow
from paragone.parity import compare, definition
from paragone.parity.reference import LONGER, trained_on
from paragone.training.observe import fitted

WORKLOAD = "nadam-keras-2"


def use_keras_2(engine: Any) -> None:
    options = {k: v for k, v in engine._workload.optimizer.items() if k not in ("name", "rule")}
    with engine._strategy.scope():
        optimizer = Nadam(engine._workload.learning_rate.base, **options)
    engine._optimizer.apply = lambda gradients, weights: optimizer.apply_gradients(
        zip(gradients, [weight.value for weight in weights], strict=True)
    )


def main() -> None:
    """Run the program."""
    folder, manifest, path = map(Path, sys.argv[1:])
    spec = probe(config_of(CONFIGURED), WORKLOAD, "tensorflow-mirrored")
    spec, dataset = fitted(spec, data.load(manifest, folder))
    reference = compare.read(path)
    engine = TensorFlow()
    engine.build(spec, dataset, 1)
    use_keras_2(engine)
    engine.set_weights(reference.initial)
    for epoch in range(1, spec.epochs + 1):
        batches = [*definition.batches(spec, dataset, epoch)]
        engine.train_epoch(0, definition.rates(spec, epoch, len(batches)), batches, len(batches))
    trained_on(engine, spec, definition.whole(definition.batches, spec, dataset, 1, LONGER))
    changes = {name: each - reference.initial[name] for name, each in reference.weights.items()}
    off = compare.of_arrays(engine.weights(), reference.weights, changes, 1e-3)
    print(max(off.values()))


if __name__ == "__main__":
    main()
