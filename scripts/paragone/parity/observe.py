"""What one backend computes for the parity gate: on given weights, and after a few training steps."""

from pathlib import Path

import numpy as np

from paragone import data, engines
from paragone.base.atomic_files import writing
from paragone.base.errors import Unavailable
from paragone.config.run_spec import Spec
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.models.canonical_weights import Weights, parameter_count
from paragone.models.initial_weights import Pretrained, initial


def observe(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None = None) -> Weights:
    """The arrays of a `compare.Observation` by the names `logits`, `gradients/...`, `weights/...`.

    `unavailable` alone, the reason, where the backend cannot run here.
    """
    try:
        engine = engines.create(spec)
        engine.build(spec, dataset, threads=1)
    except Unavailable as error:
        return {"unavailable": np.array(str(error))}
    shapes = {name: values.shape for name, values in engine.weights().items()}
    weights, _ = initial(shapes, spec, pretrained)
    batches = list(train_batches(dataset, spec, epoch=1))
    engine.set_weights(weights)
    probe = engine.probe(batches[0])
    engine.set_weights(weights)
    engine.train_epoch(framework_seed(spec.seed, 1), spec.learning_rate(1), batches, len(batches))
    return {
        "precision": np.array(spec.precision),
        "parameters": np.array(parameter_count(weights)),
        "logits": probe.logits,
        "loss": np.array(probe.loss),
        **{f"gradients/{name}": values for name, values in probe.gradients.items()},
        **{f"weights/{name}": values for name, values in engine.weights().items()},
    }


def failed(reason: str) -> Weights:
    """What is stored in place of the arrays of a probe that failed."""
    return {"failed": np.array(reason)}


def write(arrays: Weights, path: Path) -> None:
    """Write a probe as .npz, whole or not at all."""
    with writing(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
