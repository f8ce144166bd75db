"""Judge Keras 2's own NAdam, which TensorFlow still contains, in the engine `tensorflow`, by the gate.

    python observe_keras_2.py <data folder> <manifest of the data set> <reference>

Prints the verdict as JSON. A program, since a process sets TensorFlow's precision once.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from parity.protocols import CONFIGURED
from parity.wrong_engines import after_build
from tensorflow.python.keras.optimizer_v2.nadam import Nadam

from paragone import data
from paragone.config.expand import probe
from paragone.engines.tensorflow import TensorFlow
from paragone.parity import compare
from paragone.parity.observe import observe

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
    folder, manifest, reference = map(Path, sys.argv[1:])
    with pytest.MonkeyPatch.context() as patch:
        after_build(use_keras_2)(patch, TensorFlow)
        spec = probe(CONFIGURED, WORKLOAD, "tensorflow-mirrored")
        arrays = observe(spec, data.load(manifest, folder))
    verdict = compare.verdict(compare.Observation.of(arrays), compare.read(reference))
    print(json.dumps(verdict))


if __name__ == "__main__":
    main()
