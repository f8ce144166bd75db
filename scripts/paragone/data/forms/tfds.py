"""Any builder of TensorFlow Datasets: images, texts, word indices or numbers, with one label each.

Splits are named in the notation of TFDS ("train", "train[:80%]"); examples keep the order of the files.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf
from paragone.config.datasets import SPLITS
from paragone.data import tfds_builders
from paragone.data.forms import ARRAYS, TEXTS, WHOLE, WORDS, Raw, Stream, rows_at_a_time
from paragone.data.images import resized

TEXTS_AT_A_TIME = 1000


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """Prepare the builder and read its examples."""
    builder = tfds_builders.prepare(source, scratch, kept)
    return _Reader(builder, source["parameters"], f"datasets.{source['dataset']}").raw()


def _unchanged(image: tf.Tensor) -> tf.Tensor:
    return image


class _Reader:
    """A prepared builder, and the block that says what to read of it."""

    def __init__(self, builder: tfds.core.DatasetBuilder, options: dict, where: str) -> None:
        self._builder, self._options, self._where = builder, options, where
        self._input, self._label = (
            self._feature(at, key) for at, key in enumerate(("input", "label"))
        )
        self._features = builder.info.features
        if not isinstance(self._features[self._label], tfds.features.ClassLabel):
            raise UserError(f"{where}.label: {self._label!r} of {builder.name} is no class label")
        # The builder's name of each split, or of the one from which examples are held out.
        usual = SPLITS[0] if "held_out" in options else {split: split for split in SPLITS}
        wanted = options.get("split", usual)
        self._splits: dict[str, str] = {WHOLE: wanted} if isinstance(wanted, str) else wanted

    def raw(self) -> Raw:
        """Streams of the examples; only a feature that gives their order is read at once."""
        info = self._builder.info
        kind, shape, dtype, chunks = self._chunks()
        return Raw(
            kind=kind,
            streams={
                name: Stream(
                    self._examples(split),
                    partial(chunks, split),
                    f"feature {self._input!r} of {self._builder.name}, split {split!r}",
                )
                for name, split in self._splits.items()
            },
            class_names=tuple(self._features[self._label].names),
            made_by=f"tensorflow-datasets {tfds.__version__}",
            shape=shape,
            dtype=dtype,
            rank=self._rank(),
            about={"homepage": info.homepage, "citation": info.citation},
            labels_from=f"feature {self._label!r} of {self._builder.name}",
        )

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Remove prepared examples that are damaged."""
        try:
            yield
        except tf.errors.DataLossError as error:
            folder = self._builder.data_path
            shutil.rmtree(folder)
            raise UserError(f"{folder} was damaged and is removed; run again") from error

    def _feature(self, at: int, key: str) -> str:
        """The name of the feature for inputs or labels: the block's, else the builder's."""
        info = self._builder.info
        usual = info.supervised_keys[at] if info.supervised_keys else None
        name = self._options.get(key, usual)
        if not isinstance(name, str) or name not in info.features:
            raise UserError(
                f"{self._where}.{key}: {self._builder.name} has no feature {name!r}; it has "
                f"{', '.join(info.features)}"
            )
        return name

    def _examples(self, split: str) -> int:
        try:
            return self._builder.info.splits[split].num_examples
        # Depending on what is wrong with the notation.
        except (KeyError, ValueError, AssertionError):
            splits = ", ".join(self._builder.info.splits)
            raise UserError(
                f"{self._where}.split: {self._builder.name} has no {split!r}; it has {splits}. Say "
                "`split: train` and `held_out: 0.2`, say, where there is no test split"
            ) from None

    def _chunks(self) -> tuple[str, tuple[int, ...], Any, Callable[[str], Iterator]]:
        """Kind, shape, dtype, and a function that reads the chunks of a split."""
        feature = self._features[self._input]
        if isinstance(feature, tfds.features.Image):
            shape, dtype, resize = self._layout(feature)
            return ARRAYS, shape, dtype, self._batches(shape, dtype, resize)
        if isinstance(feature, tfds.features.Text):
            texts = partial(self._sequences, lambda text: text.decode(errors="replace"))
            return TEXTS, (), None, texts
        if feature.shape == (None,) and np.issubdtype(feature.np_dtype, np.integer):
            return WORDS, (), None, partial(self._sequences, lambda words: words)
        of_one_shape = feature.shape and None not in feature.shape
        if of_one_shape and np.issubdtype(feature.np_dtype, np.number):
            return ARRAYS, feature.shape, np.float32, self._batches(feature.shape, np.float32)
        raise UserError(
            f"{self._where}.input: {self._input!r} of {self._builder.name} is neither images nor texts, "
            "nor numbers of one shape; name another feature"
        )

    def _layout(self, feature: tfds.features.Image) -> tuple:
        """Shape and dtype of images in the arrays, and a function that resizes one to that shape."""
        size = self._options.get("size")
        height, width, channels = feature.shape
        if size is None and None in (height, width):
            raise UserError(
                f"{self._where}.size: the images of {self._builder.name} differ in size; give the "
                "pixels per side that they should have"
            )
        dtype = np.uint8 if feature.np_dtype == np.uint8 else np.float32
        if size is None or (height, width) == (size, size):
            return feature.shape, dtype, _unchanged
        if dtype != np.uint8:
            raise UserError(
                f"{self._where}.size: the images of {self._builder.name} are {np.dtype(feature.np_dtype)}, "
                "and only bytes are resized; leave size out"
            )
        return (size, size, channels), dtype, partial(resized, size=size)

    def _batches(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        resize: Callable[[tf.Tensor], tf.Tensor] = _unchanged,
    ) -> Callable[[str], Iterator]:
        def pair(example: dict) -> tuple[tf.Tensor, tf.Tensor]:
            return tf.cast(resize(example[self._input]), dtype), example[self._label]

        def read_split(split: str) -> Iterator:
            pairs = self._builder.as_dataset(split=split).map(pair, tf.data.AUTOTUNE)
            with self._undamaged():
                yield from tfds.as_numpy(pairs.batch(rows_at_a_time(shape, dtype)).prefetch(1))

        return read_split

    def _sequences(self, read: Callable[[Any], Any], split: str) -> Iterator:
        """Yield texts or word indices of a split, each as `read` returns it, with their labels."""
        examples = iter(tfds.as_numpy(self._builder.as_dataset(split=split)))
        with self._undamaged():
            while some := list(islice(examples, TEXTS_AT_A_TIME)):
                inputs = [read(example[self._input]) for example in some]
                yield inputs, np.array([example[self._label] for example in some])

    def _rank(self) -> np.ndarray | None:
        """The position of each example in the order of the feature `order_by`; None without that key."""
        if (feature := self._options.get("order_by")) is None:
            return None
        if WHOLE not in self._splits:
            raise UserError(f"{self._where}.order_by: nothing is held out; leave it out")
        skipped = {
            name: tfds.decode.SkipDecoding()
            for name, each in self._features.items()
            if isinstance(each, tfds.features.Image)
        }
        dataset = self._builder.as_dataset(split=self._splits[WHOLE], decoders=skipped)
        try:
            with self._undamaged():
                values = [example[feature] for example in tfds.as_numpy(dataset)]
        except KeyError:
            raise UserError(
                f"{self._where}.order_by: {self._builder.name} has no feature {feature!r}; it has "
                f"{', '.join(self._features)}"
            ) from None
        return np.argsort(np.argsort(np.array(values), kind="stable"))
