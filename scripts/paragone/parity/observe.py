"""The parity gate's observation of a backend, on given weights and after a few training steps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from paragone import data, engines
from paragone.base.atomic_files import writing
from paragone.base.errors import Unavailable, UserError, first_sentence
from paragone.config.run_spec import Spec
from paragone.data.batches import train_batches, train_examples
from paragone.data.random_streams import framework_seed, generator
from paragone.models.weights import Pretrained, Weights, parameter_count, starting, trainable
from paragone.parity.compare import Observation, rounding

COUNTED = 3 / 4  # of the evaluated batch has weight 1; the other examples are padding
LEAST = 2  # examples of a replica in a step of the probe: batch norm needs two


def observe(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None = None) -> Weights:
    """The arrays of a `compare.Observation` by the names `logits`, `gradients/...`, `weights/...`.

    If the backend cannot run here, or not this workload, the only array is `unavailable`, the reason. Raises
    `UserError` for a data set of too few examples.
    """
    spec = fitted(spec, dataset)
    try:
        found = _observe(spec, dataset, pretrained)
    except Unavailable as error:
        return {"unavailable": np.array(str(error))}
    except Exception as error:
        if not engines.create(spec).unsupported(error):
            raise
        return {"unavailable": np.array(first_sentence(error))}
    if spec.backend.engine == "reference":
        single = _observe(replace(spec, precision="float32"), dataset, pretrained)
        by_group = rounding(Observation.of(single), Observation.of(found))
        found |= {f"rounding/{group}": value for group, value in by_group.items()}
    return found


def fitted(spec: Spec, dataset: data.Dataset) -> Spec:
    """The specification of a probe, with a smaller batch where the data set has fewer examples.

    Its last batch is partial where the workload keeps partial batches.
    Raises `UserError` if it has too few for any.
    """
    steps, replicas = spec.steps_per_epoch or 1, spec.replicas
    train, test = train_examples(dataset, spec), len(dataset.test_labels)
    size = min(spec.global_batch, train // steps, test) // replicas * replicas
    if size < LEAST * replicas:
        raise UserError(
            f"data set {dataset.name} has {train} training and {test} test examples; the parity gate needs "
            f"{LEAST * replicas * steps} and {LEAST * replicas}"
        )
    fitting = replace(spec, global_batch=size, per_replica_batch=size // replicas)
    if spec.workload.partial_batch == "drop" or size < 2 * LEAST * replicas:
        return fitting
    half = size // 2 // replicas * replicas  # the last step of the probe has a partial batch
    workload = replace(spec.workload, train_examples=(steps - 1) * size + half)
    return replace(fitting, workload=workload)


def _observe(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> Weights:
    plain = _Subject(_without_dropout(spec), dataset)
    found = plain.train(pretrained)
    if not spec.workload.dropout:
        return found | plain.evaluate(found)
    dropping = _Subject(spec, dataset)
    return found | dropping.evaluate(found) | dropping.drop(found)


def _without_dropout(spec: Spec) -> Spec:
    """Training is compared without dropout, as each framework draws masks from its own generator."""
    if not spec.workload.dropout:
        return spec
    return replace(spec, workload=spec.workload.with_model(dropout=0.0))


class _Subject:
    """An engine on one thread, and the batches that it is fed with."""

    def __init__(self, spec: Spec, dataset: data.Dataset) -> None:
        self.spec = spec
        self.engine = engines.create(spec)
        self.engine.build(spec, dataset, threads=1)
        self.batches = list(train_batches(dataset, spec, epoch=1))
        size = spec.global_batch
        weights = (np.arange(size) < COUNTED * size).astype(np.float32)
        self.tested = np.array(dataset.test_inputs[:size]), dataset.test_labels[:size], weights

    def train(self, pretrained: Pretrained | None) -> Weights:
        """Take one pass, then the first and, if its learning rates are others, the last epoch.

        Running means start at random values, running variances at 0, so that biased and unbiased ones differ
        by exactly n / (n - 1). Training depends on neither.
        """
        engine, spec = self.engine, self.spec
        drawn, _ = starting(engine.weights(), spec, pretrained)
        start = _with_statistics(drawn, lambda random, shape: np.zeros(shape))
        engine.set_weights(start)
        probe = engine.probe(self.batches[0])
        engine.set_weights(start)
        steps = len(self.batches)
        ends = [tuple(spec.learning_rates(epoch, steps)) for epoch in (1, spec.epochs)]
        metrics = [
            self._epoch(epoch, [*rates]) for epoch, rates in enumerate(dict.fromkeys(ends), start=1)
        ]
        after, averages = engine.weights(), {}
        if spec.workload.optimizer.get("average"):
            means = engine.weights(averaged=True).items()
            averages = {f"averages/{name}": values for name, values in means if trainable(name)}
        for name, factor in probe.unbiased.items():
            after[name] = after[name] / factor
        return {
            "precision": np.array(spec.precision),
            "counted": np.array(not spec.workload.task.numeric),
            "parameters": np.array(parameter_count(drawn)),
            "logits": probe.logits,
            "loss": np.array(probe.loss),
            "training": np.array(metrics),
            **{f"gradients/{name}": values for name, values in probe.gradients.items()},
            **{f"initial/{name}": values for name, values in start.items()},
            **{f"weights/{name}": values for name, values in after.items()},
            **averages,
        }

    def evaluate(self, found: Weights) -> Weights:
        """Evaluate twice, on the trained weights and statistics unlike those of any batch."""
        self._load(found, "weights/")
        metrics = [self.engine.evaluate([self.tested], 1) for _ in range(2)]
        return {"evaluation": np.array([[each.loss, each.score] for each in metrics])}

    def drop(self, found: Weights) -> Weights:
        """Observe what does not depend on a framework's draws.

        That is whether losses of two seeds differ and that of the first repeats, and how far dropout moves
        the logits, relative to their norm.
        """
        losses = []
        for epoch in (1, 2, 1):
            self._load(found, "initial/")
            losses.append(self._epoch(epoch, self.spec.learning_rates(1, 1))[0])
        self._load(found, "initial/")
        moved = self.engine.probe(self.batches[0]).logits - found["logits"]
        effect = np.linalg.norm(moved) / np.linalg.norm(found["logits"])
        return {"dropout/losses": np.array(losses), "dropout/effect": np.array(effect)}

    def _load(self, found: Weights, prefix: str) -> None:
        weights = {
            name.removeprefix(prefix): values
            for name, values in found.items()
            if name.startswith(prefix)
        }
        anything = _with_statistics(weights, lambda random, shape: random.uniform(0.5, 1.5, shape))
        self.engine.set_weights(anything)

    def _epoch(self, epoch: int, rates: list[float]) -> list[float]:
        """Train on the first batches, one for each rate; return loss and score."""
        batches = self.batches[: len(rates)]
        seed = framework_seed(self.spec.seed, epoch)
        metrics = self.engine.train_epoch(seed, rates, batches, len(rates))
        return [metrics.loss, metrics.score]


def _with_statistics(
    weights: Weights, variance: Callable[[np.random.Generator, tuple], np.ndarray]
) -> Weights:
    """Replace running means by random values, and running variances by those of `variance`."""
    random = generator("statistics", 0)
    drawn = dict(weights)
    for name, values in weights.items():
        if not trainable(name):
            mean = name.endswith("moving_mean")
            shape = values.shape
            drawn[name] = random.normal(0, 0.1, shape) if mean else variance(random, shape)
            drawn[name] = drawn[name].astype(np.float32)
    return drawn


def failed(reason: str) -> Weights:
    """The content of the file of a probe that failed."""
    return {"failed": np.array(reason)}


def write(arrays: Weights, path: Path) -> None:
    """Write the arrays of a probe as .npz, atomically."""
    with writing(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
