"""The one input pipeline: host batches for every engine, drawn from the mapped arrays.

Every backend is fed the same bytes in the same order, without a framework's loader. Random shifts and flips
of images are drawn once for all of them. The shifts are those of Keras' `ImageDataGenerator` with
`width_shift_range` and `height_shift_range`: linear between pixels, and the edge is repeated outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, islice

import numpy as np
from msgspec.structs import replace

from paragone.config.run_spec import RESIDENT, Augmentation, Spec
from paragone.data import Dataset
from paragone.data.random_streams import buffered_order, epoch_order, generator

Batch = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Shard:
    """The part of every global batch that one process feeds: replicas [first, last) of `replicas`."""

    first: int
    last: int
    replicas: int

    def of(self, batch: np.ndarray) -> np.ndarray:
        """Return the rows of a global batch (leading axis) that belong to this process."""
        per_replica = len(batch) // self.replicas
        return batch[self.first * per_replica : self.last * per_replica]


WHOLE = Shard(0, 1, 1)


def train_examples(dataset: Dataset, spec: Spec) -> int:
    """Return the number of training examples that the workload trains on."""
    return spec.split(len(dataset.train_labels))[0]


def evaluated_rows(dataset: Dataset, spec: Spec, split: str, epoch: int = 1) -> np.ndarray:
    """Return the examples of an evaluation of a split, "test" or "validation", in their order; indices.

    Those of validation are training examples: all that are held out. Of the test split they are what
    `evaluation` of the workload says: in order, or drawn for an epoch.
    """
    if split == "validation":
        trained, held = spec.split(len(dataset.train_labels))
        asked = spec.workload.validation
        if asked and asked.random:
            return np.sort(generator("validation", spec.seed).permutation(trained + held)[:held])
        return np.arange(held) + (0 if asked and asked.first else trained)
    there = len(dataset.test_labels)
    examples = spec.tested_examples(there)
    if spec.workload.evaluation and spec.workload.evaluation.random_batches:
        return generator("evaluation", spec.seed, epoch).integers(there, size=examples)
    return np.arange(examples)


def train_dtype(dataset: Dataset, spec: Spec) -> np.dtype:
    """Return the dtype of training inputs: as stored, float32 if augmented, int64 with a resident feed."""
    if spec.backend.feed == RESIDENT:
        return np.dtype(np.int64)
    return np.dtype(np.float32) if spec.workload.augmentation else dataset.train_inputs.dtype


def train_batches(
    dataset: Dataset, spec: Spec, epoch: int, shard: Shard = WHOLE, steps: int | None = None
) -> Iterator[Batch]:
    """Yield (inputs, labels) of every step of an epoch.

    inputs: (local batch, ...) of `train_dtype`; with a resident feed the rows (local batch,) of the inputs on
    the device, where those of the test split follow. labels: as stored, (local batch, ...). steps: the number
    of whole batches to yield, continuing into later epochs.
    """
    if steps is None:
        return _epoch(dataset, spec, epoch, shard)
    workload = replace(spec.workload, partial_batch="drop")
    whole = replace(spec, workload=workload, steps_per_epoch=None)
    epochs = (_epoch(dataset, whole, number, shard) for number in count(epoch))
    return islice(chain.from_iterable(epochs), steps)


def _epoch(dataset: Dataset, spec: Spec, epoch: int, shard: Shard) -> Iterator[Batch]:
    examples, size = train_examples(dataset, spec), spec.global_batch
    order = _order(examples, spec, 1 if spec.workload.shuffle == "once" else epoch)
    if len(held_out := evaluated_rows(dataset, spec, "validation")):
        order = np.delete(np.arange(examples + len(held_out)), held_out)[order]
    options = spec.workload.augmentation
    random = generator("augmentation", spec.seed, epoch)
    for step in range(spec.steps(examples)):
        batch = order[step * size : (step + 1) * size]
        rows = shard.of(batch)
        inputs = rows if spec.backend.feed == RESIDENT else dataset.train_inputs[rows]
        if options:
            # Drawn for the global batch, so that the draws do not depend on the number of processes.
            inputs = augment(inputs, shard.of(draw(len(batch), options, random)))
        yield inputs, dataset.train_labels[rows]


def _order(examples: int, spec: Spec, epoch: int) -> np.ndarray:
    if spec.workload.shuffle == "with_replacement":
        drawn = spec.epoch_examples(examples)
        return generator("order", spec.seed, epoch).integers(examples, size=drawn)
    if buffer := spec.workload.shuffle_buffer:
        return buffered_order(examples, buffer, spec.seed, epoch)
    return epoch_order(examples, spec.seed, epoch)


def evaluation_batches(
    dataset: Dataset, spec: Spec, shard: Shard = WHOLE, epoch: int = 1, split: str = "test"
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (inputs, labels, weights) of the examples of an evaluation, as of `evaluated_rows`.

    The last batch is filled up with its first example at weight 0, so that shapes are constant and each
    example counts once. weights: (local batch,) float32.
    """
    rows, size = evaluated_rows(dataset, spec, split, epoch), spec.evaluation_batch
    of_test, resident = split == "test", spec.backend.feed == RESIDENT
    stored = dataset.test_inputs if of_test else dataset.train_inputs
    labels = dataset.test_labels if of_test else dataset.train_labels
    for start in range(0, len(rows), size):
        index = np.arange(start, start + size)
        chosen = shard.of(rows[np.where(index < len(rows), index, start)])
        weights = shard.of((index < len(rows)).astype(np.float32))
        inputs = chosen + of_test * len(dataset.train_labels) if resident else stored[chosen]
        yield inputs, labels[chosen], weights


def batch_sizes(dataset: Dataset, spec: Spec) -> list[int]:
    """Return the sizes of the batches of an epoch: of whole ones, and of a partial one if there is any."""
    partial = spec.epoch_examples(train_examples(dataset, spec)) % spec.global_batch
    return [spec.global_batch, *([partial] if partial else [])]


def noise_batches(
    dataset: Dataset, spec: Spec, shard: Shard = WHOLE, size: int | None = None
) -> tuple[tuple, tuple]:
    """Return a training and an evaluation batch for the warm-up: zeros, or row 0 if resident.

    Labels are arbitrary. size: of the training batch, the global batch if None.
    """
    training = _noise(dataset, spec, shard, size or spec.global_batch, train_dtype(dataset, spec))
    evaluation = _noise(dataset, spec, shard, spec.evaluation_batch, dataset.test_inputs.dtype)
    return training, (*evaluation, np.ones(len(evaluation[0]), np.float32))


def _noise(dataset: Dataset, spec: Spec, shard: Shard, size: int, dtype: np.dtype) -> tuple:
    stored = dataset.train_labels
    labels = np.zeros((size, *stored.shape[1:]), stored.dtype)
    labels.T[...] = np.arange(size) % dataset.outputs
    labels = shard.of(labels)
    if spec.backend.feed == RESIDENT:
        return np.zeros(len(labels), np.int64), labels
    return np.zeros((len(labels), *dataset.train_inputs.shape[1:]), dtype), labels


def draw(batch: int, changes: Augmentation, random: np.random.Generator) -> np.ndarray:
    """Return (batch, 3) float64: the shifts down and right as fractions of a side, and flip, 0 or 1."""
    shifts = random.uniform(-changes.shift, changes.shift, (batch, 2))
    flips = random.random((batch, 1)) < (0.5 if changes.flip else 0)
    return np.hstack([shifts, flips])


def augment(images: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return images (batch, height, width, channels) of any dtype, changed by draws of `draw`, as float32."""
    _, height, width, _ = images.shape
    down, right, flip = drawn.T
    images = _shift(images.astype(np.float32), down * height)
    images = _shift(images.swapaxes(1, 2), right * width).swapaxes(1, 2)
    return np.ascontiguousarray(np.where(flip[:, None, None, None] > 0, images[:, :, ::-1], images))


def _shift(images: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Read axis 1 at `index + distance`: linear between pixels, the edge repeated outside."""
    last = images.shape[1] - 1
    position = np.arange(last + 1) + distance[:, None]
    lower = np.floor(position)
    fraction = (position - lower).astype(np.float32)[:, :, None, None]
    image = np.arange(len(images))[:, None]
    before = images[image, np.clip(lower, 0, last).astype(np.intp)]
    after = images[image, np.clip(lower + 1, 0, last).astype(np.intp)]
    return before + fraction * (after - before)
