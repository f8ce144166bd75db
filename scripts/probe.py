"""Observe what one backend computes for the parity gate and write it down."""

import argparse
from pathlib import Path

import numpy as np

from paragone import data, engines
from paragone.base import errors
from paragone.base.errors import entry_point
from paragone.config.run_spec import Spec
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.models.canonical_weights import parameter_count
from paragone.training.initial_weights import Pretrained, initial, read


def observe(
    engine: engines.Engine,
    spec: Spec,
    dataset: data.Dataset,
    pretrained: Pretrained | None = None,
) -> dict[str, np.ndarray]:
    """Arrays of a `parity.Observation`, by the names `logits`, `gradients/...`, `weights/...`."""
    engine.build(spec, dataset, threads=1)
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


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the probe, JSON")
    parser.add_argument("--manifest", required=True, type=Path, help="manifest of its data set")
    parser.add_argument("--data-folder", required=True, type=Path, help="where the arrays lie")
    parser.add_argument("--output", required=True, type=Path, help="probe.npz to write")
    parser.add_argument("--weights", type=Path, help="what scripts/fetch_weights.py wrote")
    options = parser.parse_args()
    spec = Spec.from_json(options.spec)
    dataset = data.load(options.manifest, options.data_folder)
    pretrained = read(options.weights, options.data_folder)
    try:
        observed = observe(engines.create(spec), spec, dataset, pretrained)
    except errors.Unavailable as error:
        observed = {"unavailable": np.array(str(error))}
    with options.output.open("wb") as file:
        np.savez(file, **observed)


if __name__ == "__main__":
    main()
