"""The protocol of a run, defined: what it trains and tests on, in which order and at which learning rates.

The parity gate's reference trains by this module. It is written from docs/method.md#same-work and
docs/protocols.md, and shares no code with what feeds the backends (`data/batches.py`,
`data/random_streams.py`, `config/schedules.py`), except for a framework's own schedule: an error of either is
a deviation. It is made to be read, not to be fast.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, count, islice

import numpy as np
from msgspec.structs import replace

from paragone.config.run_spec import Spec
from paragone.config.schedules import LearningRate
from paragone.data import Dataset
from paragone.engines import learning_rates


def stream(purpose: str, seed: int, epoch: int) -> np.random.Generator:
    """Return the random numbers of a purpose in an epoch: Philox, whose key has seed, epoch, purpose."""
    key = np.array([seed * 2**32 + epoch, zlib.crc32(purpose.encode())], np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def seed_of(spec: Spec, epoch: int) -> int:
    """Return what seeds the framework's own generator (dropout masks) in an epoch."""
    return int(stream("framework", spec.seed, epoch).integers(2**31 - 1))


def order(spec: Spec, examples: int, least: int, epoch: int) -> np.ndarray:
    """Return at least as many examples of an epoch as are asked for, in their order; indices."""
    random = stream("order", spec.seed, 1 if spec.workload.shuffle == "once" else epoch)
    if spec.workload.shuffle == "with_replacement":
        return random.integers(examples, size=least)
    buffer = spec.workload.shuffle_buffer
    if buffer is None:
        return random.permutation(examples)
    # A place of the buffer is drawn; whatever follows takes the place, at the end the last in the buffer.
    held, later, taken = [*range(min(buffer, examples))], iter(range(buffer, examples)), []
    sizes = [min(buffer, examples - step) for step in range(examples)]
    for place in random.integers(sizes):
        taken.append(held[place])
        following = next(later, None)
        held[place] = held[-1] if following is None else following
        if following is None:
            del held[-1]
    return np.array(taken)


def held_out(spec: Spec, dataset: Dataset) -> np.ndarray:
    """Return the training examples that validate, of those that the workload uses; indices."""
    if (asked := spec.workload.validation) is None:
        return np.arange(0)
    there = len(dataset.train_labels)
    used = np.arange(min(there, spec.workload.train_examples or there))

    def count(part: float) -> int:
        return int(part) if part >= 1 else len(used) - math.floor(len(used) * (1 - part))

    if asked.last:
        return used[len(used) - count(asked.last) :]
    if asked.first:
        return used[: count(asked.first)]
    drawn = stream("validation", spec.seed, 0).permutation(used)[: count(asked.random)]
    return np.array(sorted(drawn))


def rows(spec: Spec, dataset: Dataset, epoch: int) -> Iterator[np.ndarray]:
    """Yield the examples of each step of an epoch; those that fill no batch are one if they are kept."""
    there, size, validating = len(dataset.train_labels), spec.global_batch, held_out(spec, dataset)
    used = min(there, spec.workload.train_examples or there)
    examples = used - len(validating)
    steps = examples // size
    if spec.workload.partial_batch == "keep" and examples % size:
        steps += 1
    steps = spec.steps_per_epoch or steps
    following = order(spec, examples, min(steps * size, examples), epoch)
    if len(validating):
        following = np.setdiff1d(np.arange(used), validating)[following]
    for step in range(steps):
        yield following[step * size : (step + 1) * size]


def whole(
    of_epoch: Callable[..., Iterator], spec: Spec, dataset: Dataset, epoch: int, steps: int
) -> Iterator:
    """Yield what `rows` or `batches` (`of_epoch`) yields, of so many whole batches from an epoch on."""
    dropping = replace(spec.workload, partial_batch="drop")
    longest = replace(spec, workload=dropping, steps_per_epoch=None)
    epochs = (of_epoch(longest, dataset, number) for number in count(epoch))
    return islice(chain.from_iterable(epochs), steps)


def batches(spec: Spec, dataset: Dataset, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (inputs, labels) of each step of an epoch."""
    random, changes = stream("augmentation", spec.seed, epoch), spec.workload.augmentation
    for chosen in rows(spec, dataset, epoch):
        inputs, size = dataset.train_inputs[chosen], len(chosen)
        if changes:
            # Drawn for each batch: all shifts, down and right, then who is flipped.
            shifts = random.uniform(-changes.shift, changes.shift, (size, 2))
            flips = random.random(size) < (0.5 if changes.flip else 0)
            draws = zip(inputs, shifts, flips, strict=True)
            inputs = np.stack([augmented(*drawn) for drawn in draws])
        yield inputs, dataset.train_labels[chosen]


def augmented(image: np.ndarray, shift: np.ndarray, flip: bool) -> np.ndarray:
    """Return an image (height, width, channels), moved and flipped; float32."""
    image = _moved(image.astype(np.float32), shift[0])
    image = _moved(image.swapaxes(0, 1), shift[1]).swapaxes(0, 1)
    return image[:, ::-1].copy() if flip else image.copy()


def _moved(image: np.ndarray, fraction: float) -> np.ndarray:
    """Row y of the result is what the image has at y + fraction of its height.

    That is linear between two rows, in single precision; beyond an edge is the row at the edge.
    """
    height, rows = len(image), []
    for y in range(height):
        above = math.floor(y + fraction * height)
        share = np.float32(y + fraction * height - above)
        first, second = (image[min(max(row, 0), height - 1)] for row in (above, above + 1))
        rows.append(first + share * (second - first))
    return np.stack(rows)


def tested_rows(spec: Spec, dataset: Dataset, epoch: int) -> np.ndarray:
    """Return the test examples of an epoch's evaluation: all, the first ones, or some drawn for the epoch."""
    evaluation, there = spec.workload.evaluation, len(dataset.test_labels)
    if evaluation and evaluation.random_batches:
        random = stream("evaluation", spec.seed, epoch)
        return random.integers(there, size=evaluation.random_batches * spec.global_batch)
    return np.arange(there)[: evaluation.first if evaluation else None]


def tests(
    spec: Spec, dataset: Dataset, epoch: int, split: str
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (inputs, labels, weights) of the examples of an epoch's evaluation, in equal batches.

    The last batch is filled up with its last example, at weight 0.
    """
    tested = tested_rows(spec, dataset, epoch)
    inputs, labels = dataset.test_inputs, dataset.test_labels
    if split == "validation":
        tested = held_out(spec, dataset)
        inputs, labels = dataset.train_inputs, dataset.train_labels
    for start in range(0, len(tested), spec.evaluation_batch):
        places = np.arange(start, start + spec.evaluation_batch)
        chosen = tested[np.minimum(places, len(tested) - 1)]
        weights = (places < len(tested)).astype(np.float32)
        yield inputs[chosen], labels[chosen], weights


def rates(spec: Spec, epoch: int, steps: int) -> list[float]:
    """Return the learning rate of each step of an epoch of so many."""
    rate = spec.workload.learning_rate
    if rate.of_framework:  # which defines them: there is no other definition
        return learning_rates(spec, epoch, steps)
    base = rate.base * (spec.global_batch / rate.per_batch if rate.per_batch else 1)
    factors = []
    for step in range(steps):
        passed: float = epoch - 1
        length = spec.epochs
        if rate.unit == "step":
            passed, length = (epoch - 1) * steps + step, spec.epochs * steps
        factors.append(base * _risen(rate, passed, length) * _decayed(rate, passed))
    return factors


def _risen(rate: LearningRate, t: float, length: int) -> float:
    """Return the factor of warm-up and schedule after t units, in the letters of docs/protocols.md."""
    w = rate.warmup.length if rate.warmup else 0
    if rate.warmup and t < w:
        start = 1 / (w + 1) if rate.warmup.start is None else rate.warmup.start
        return start + (1 - start) * t / w
    if (shape := rate.shape) is None:
        return 1
    end = shape.over or length
    p = 1 if t >= end else (t - w) / (end - w)
    match shape.name:
        case "linear":
            return 1 + (shape.end - 1) * p
        case "cosine":
            return shape.end + (1 - shape.end) * (1 + math.cos(math.pi * p)) / 2
        case "exponential":
            return shape.rate ** (t - w)
        case "steplr":
            return shape.gamma ** math.floor((t - w) / shape.step_size)
        case "multisteplr":
            return math.prod(shape.gamma for milestone in shape.milestones if milestone <= t)


def _decayed(rate: LearningRate, t: float) -> float:
    """Return the factor of the last decay whose units have passed."""
    factor: float = 1
    for decay in rate.decay:
        if t >= decay.after:
            factor = decay.factor
    return factor
