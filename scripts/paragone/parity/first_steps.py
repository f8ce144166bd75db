"""The parity gate for timed runs: their first steps at their own replicas, batch size, precision and mode.

The change of each array is kept as a sketch, a linear map to a few numbers that preserves norms, so that
two runs can be compared without their arrays.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from paragone import engines
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import train_batches, train_examples
from paragone.data.random_streams import framework_seed, generator
from paragone.engines import Engine
from paragone.models.weights import Pretrained, Weights, group_of
from paragone.parity import definition
from paragone.parity.compare import FLOORS, MOST, MULTIPLE, judge, largest, of_arrays, of_metrics
from paragone.records.run_record import FirstSteps

BUCKETS = 64  # numbers of a sketch; they preserve an array's norm to some 10 %
GROUPS = ("updates", "means", "variances")  # of weights, of running means and variances
# A rectifier or a max pool whose inputs are equal up to the last digits may decide otherwise than the
# reference for one example. The change due to one example, times this share, is therefore allowed. Of 146
# runs (20 seeds, 4 workloads, 3 frameworks) the largest share was 0.16 where ten times the rounding was
# less.
SHARE_OF_EXAMPLE = 0.5
# A reference that deviates by more than this in the run's precision allows no verdict on others: in bfloat16
# the updates of MobileNetV2 deviate by 1.5, as much as random ones.
JUDGED = MOST / 2
# With 8 bits more logits are equal before anything is learned: 3 of 512 examples differed between backends.
TIES_OF_MIXED = 0.01


def take(engine: Engine, spec: Spec, dataset: Dataset, steps: int) -> Weights:
    """Take the run's first steps; return sketches of the changes of each array, and "training" metrics.

    `engine`: with the run's initial weights.
    """
    batches = train_batches(dataset, spec, 1, engine.shard, steps)
    rates = engines.learning_rates(spec, 1, steps)
    return _changed(engine, framework_seed(spec.seed, 1), rates, batches)


def _changed(engine: Engine, seed: int, rates: list[float], batches: Iterable[tuple]) -> Weights:
    start = engine.weights()
    metrics = engine.train_epoch(seed, rates, batches, len(rates))
    changes = {"training": np.array([[metrics.loss, *metrics.scores]])}
    for name, values in engine.weights().items():
        changes[f"{group_of(name)}/{name}"] = sketch(name, values - np.float64(start[name]))
    return changes


def sketch(name: str, values: np.ndarray) -> np.ndarray:
    """Return at most `BUCKETS` numbers: a small array, or sums over random parts with random signs."""
    if values.size <= BUCKETS:
        return values.ravel()
    random = generator(f"sketch {name}", 0)
    buckets = random.integers(BUCKETS, size=values.size)
    signs = random.integers(2, size=values.size) * 2 - 1
    return np.bincount(buckets, signs * values.ravel(), BUCKETS)


def reference(spec: Spec, dataset: Dataset, pretrained: Pretrained | None) -> Weights:
    """Return the reference's first steps in double precision, and "rounding/<group>" for `judge`.

    Rates, order and augmentation are those of `definition`. Rounding is the deviation of the reference in the
    run's precision, or more if `SHARE_OF_EXAMPLE` asks for it. If it exceeds `JUDGED`, the only array is
    "failed", the reason. For a model with dropout, whose masks each framework draws, it is "masked".
    `spec`: of `expand.first_steps`. Raises `UserError` where no whole batch fits.
    """
    # Otherwise no epoch would ever have a step.
    replace(spec, steps_per_epoch=1, epochs=spec.workload.accumulated).steps(
        train_examples(dataset, spec)
    )
    steps = spec.steps_per_epoch or 0
    masked: set[bool] = set()

    def taken(precision: str, change: Callable[[tuple], tuple] = lambda batch: batch) -> Weights:
        at = replace(spec, precision=precision)
        engine = engines.create(at)
        engine.build(at, dataset, threads=1)
        masked.add(engine.dropout_off())
        engines.begin(engine, at, pretrained)
        batches = definition.whole(definition.batches, spec, dataset, 1, steps)
        rates = definition.rates(at, 1, steps)
        return _changed(engine, 0, rates, map(change, batches))

    changes = taken("float64") | {
        "steps": np.array(steps),
        "examples": np.array(steps * spec.global_batch),
        "counted": np.array(not spec.workload.task.numeric),
    }
    if True in masked:
        return {"masked": np.array(True)}
    rounding = largest(_deviations(taken(spec.precision), changes, spec.precision))
    if lost := {group: value for group, value in rounding.items() if not value <= JUDGED}:
        off = ", ".join(f"{group} by {value:.2f}" for group, value in lost.items())
        precise = f"in {spec.precision} it deviates from itself in double precision"
        return {"failed": np.array(f"{precise}, {off} of at most {JUDGED}")}
    changed = taken(spec.precision, _one_replaced)
    example = largest(_deviations(changed, changes, spec.precision))
    share = SHARE_OF_EXAMPLE / MULTIPLE
    return changes | {
        f"rounding/{key}": np.array(max(rounding[key], share * example[key])) for key in rounding
    }


def _one_replaced(batch: tuple) -> tuple:
    """Return a copy of the batch whose first example is replaced by its last."""
    changed = tuple(np.array(values) for values in batch)
    for values in changed:
        values[0] = values[-1]
    return changed


def compared(path: Path, take_steps: Callable[[int], Weights], precision: str) -> FirstSteps:
    """Return the verdict of `compare.judge` on a run's first steps; only a reason if there can be none.

    `path`: a file that `observe.write` wrote. `take_steps`: called with the number of steps of the reference.
    """
    with np.load(path) as arrays:
        expected = dict(arrays)
    if "failed" in expected:
        return FirstSteps(f"no reference: {expected['failed']}", {}, {})
    if "masked" in expected:
        return FirstSteps("not compared: frameworks draw the masks of dropout", {}, {}, masked=True)
    changes = take_steps(int(expected["steps"]))
    rounding = {group: expected[f"rounding/{group}"] for group in (*GROUPS, "training")}
    verdict = judge(_deviations(changes, expected, precision), precision, rounding)
    return FirstSteps(verdict.reason, verdict.deviations, verdict.allowed)


def _deviations(changes: Weights, expected: Weights, precision: str) -> dict[str, dict[str, float]]:
    by_array = {}
    for group in GROUPS:
        arrays = {name: v for name, v in expected.items() if name.startswith(f"{group}/")}
        by_array[group] = of_arrays(changes, arrays, arrays, FLOORS["float32"])
    tie = max(1 / float(expected["examples"]), TIES_OF_MIXED if precision == "bfloat16" else 0.0)
    metrics = changes["training"], expected["training"], bool(expected["counted"])
    return by_array | {"training": of_metrics(*metrics, tie)}
