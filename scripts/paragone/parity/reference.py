"""The short run of the parity gate as the reference trains it: the loop, written out.

Order, rates, batches, seeds and tests are those of `definition`; model, loss and rules those of
`engines/reference.py`. Nothing of the product's loop and data path takes part.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from paragone import engines
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines import Engine
from paragone.models.weights import Pretrained, Weights, parameter_count, trainable
from paragone.parity import definition

# The steps of a last epoch, which is longer than the others, as those of contests are: an engine may end it
# early or repeat a batch.
LONGER = 9


def observed(spec: Spec, dataset: Dataset, pretrained: Pretrained | None) -> Weights:
    """Return the arrays of a `compare.Observation` but for `rounding`. Raises as building an engine does.

    Training is compared without dropout, as each framework draws masks from its own generator. The engine is
    that of `engines/reference.py`, or the plain form of the one framework whose initial weights these are.
    """
    is_written_out = spec.backend.engine == "reference"
    flop = None
    if is_written_out:
        # Imported here: missing data are found before PyTorch is imported, which may not be there.
        from paragone.engines.reference import flop_per_example

        flop = flop_per_example(spec, dataset)
    engine, start = _begun(spec, dataset, pretrained)
    has_dropout = engine.dropout_off()
    first = next(definition.batches(spec, dataset, 1))
    probe = engine.probe(first)
    engine.set_weights(start)  # without what a framework's own engine has added to statistics
    training: list[list[float]] = []
    evaluated: dict[tuple[str, bool], list[list[float]]] = {}
    for epoch in range(1, spec.epochs + 1):
        batches = [*definition.batches(spec, dataset, epoch)]
        rates = definition.rates(spec, epoch, len(batches))
        during = engine.train_epoch(0, rates, batches, len(batches))
        training.append([during.loss, *during.scores])
        if epoch == spec.epochs:
            negate(engine)
        for split, biased in product(spec.workload.evaluated, (True, False)):
            tested = [*definition.tests(spec, dataset, epoch, split)]
            options = {"biased": biased} if is_written_out else {}
            after = engine.evaluate(tested, len(tested), **options)
            evaluated.setdefault((split, biased), []).append([after.loss, *after.scores])
    negate(engine)
    longer = definition.whole(definition.batches, spec, dataset, 1, LONGER)
    training.append(trained_on(engine, spec, longer))
    weights = engine.weights()
    evaluation, unbiased = (
        np.concatenate([evaluated[split, biased] for split in spec.workload.evaluated])
        for biased in (True, False)
    )
    biased_variances = engine.biased_variances() if is_written_out else {}
    arrays = {
        "precision": np.array(spec.precision),
        "parameters": np.array(parameter_count(start)),
        "counted": np.array(not spec.workload.task.numeric),
        "flop": np.array(flop or 0),
        "logits": probe.logits,
        "loss": np.array(probe.loss),
        "training": np.array(training),
        "evaluation": evaluation,
        "evaluation_unbiased": unbiased,
        **{f"gradients/{name}": values for name, values in probe.gradients.items()},
        **{f"initial/{name}": values for name, values in start.items()},
        **{f"weights/{name}": values for name, values in (weights | biased_variances).items()},
        **{f"paths/{name}": np.array(layout.path) for name, _, layout in engine.entries()},
        **{f"unbiased/{name}": weights[name] for name in biased_variances},
    }
    if has_dropout:
        dropping, _ = _begun(spec, dataset, pretrained)
        arrays |= dropped(dropping, spec, dataset, start, arrays["logits"])
        for name in ("evaluation", "evaluation_unbiased"):  # which has no dropout
            arrays[name] = np.concatenate([arrays[name], arrays[name][-1:]])
    return arrays


def negate(engine: Any) -> None:
    """Negate all trained weights, so that the test loss of the last epoch is not the least; twice, none."""
    biased = vars(engine).get("biased")  # which setting weights replaces
    weights = engine.weights().items()
    engine.set_weights({name: -values if trainable(name) else values for name, values in weights})
    if biased:
        engine.biased = biased


def trained_on(engine: Engine, spec: Spec, batches: Iterable[tuple]) -> list[float]:
    """Train an epoch of `LONGER` steps at rates of the last epoch; loss and scores."""
    rates = definition.rates(spec, spec.epochs, LONGER)
    during = engine.train_epoch(0, rates, batches, LONGER)
    return [during.loss, *during.scores]


def dropped(
    engine: Engine, spec: Spec, dataset: Dataset, start: Weights, logits: np.ndarray
) -> Weights:
    """Return what does not depend on a framework's draws, of an engine with dropout.

    "dropout/losses": of the first two epochs, whose seeds draw their masks; and of the first with the seed
    of the second. All are at the weights `start` and a rate of 0.
    "dropout/effect": how far dropout moves the logits, relative to the norm of those without it, `logits`.
    """
    losses = []
    for epoch, seeded in ((1, 1), (2, 2), (1, 2)):
        engine.set_weights(start)
        batches = [*definition.batches(spec, dataset, epoch)]
        seed, steps = definition.seed_of(spec, seeded), len(batches)
        losses.append(engine.train_epoch(seed, [0.0] * steps, batches, steps).loss)
    engine.set_weights(start)
    moved = engine.probe(next(definition.batches(spec, dataset, 1))).logits - logits
    effect = np.linalg.norm(moved) / np.linalg.norm(logits)
    return {"dropout/losses": np.array(losses), "dropout/effect": np.array(effect)}


def _begun(spec: Spec, dataset: Dataset, pretrained: Pretrained | None) -> tuple[Any, Weights]:
    """Return the reference, which has more methods than an engine, on its initial weights, and these."""
    engine = engines.create(spec)
    engine.build(spec, dataset, threads=1)
    return engine, engines.begin(engine, spec, pretrained)[0]
