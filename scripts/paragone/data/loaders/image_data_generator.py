"""Keras' ImageDataGenerator: image by image, shifted by SciPy's affine transform.

It gets the shifts and flips that are drawn for all backends in place of its own. SciPy interpolates in
another order of operations, so that augmented images are those of the mapped arrays up to rounding (1e-4 of
a gray level); others are equal.
"""

from collections.abc import Iterator

import numpy as np
import scipy.ndimage  # noqa: F401  # Keras imports it at the first image: here, where its absence is a status

from paragone.base import tensorflow  # noqa: F401  # first: it imports Keras alone
from paragone.base.errors import Unavailable
from paragone.data import Dataset
from paragone.data.loaders import Batch, Step

# isort: split
from keras.src.legacy.preprocessing.image import ImageDataGenerator

ENGINES = ("tensorflow", "keras_fit")
AUGMENTS = True


class Generated:
    """The loader. As Keras' own iterator it holds all images in float32."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        stored = dataset.train_inputs
        if stored.ndim != 4:
            raise Unavailable("loader image_data_generator: reads images alone")
        self._dtype, self._labels = stored.dtype, dataset.train_labels
        self._images = np.asarray(stored[:examples], np.float32)
        self._generator = ImageDataGenerator(data_format="channels_last", fill_mode="nearest")

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        """See `Loader.batches`."""
        for step in steps:
            dtype = self._dtype if step.drawn is None else np.float32
            inputs = np.empty((len(step.rows), *self._images.shape[1:]), dtype)
            for place, row in enumerate(step.rows):
                changes = {} if step.drawn is None else self._changes(step.drawn[place])
                image = self._generator.apply_transform(self._images[row], changes)
                inputs[place] = self._generator.standardize(image)
            yield inputs, self._labels[step.rows]

    def _changes(self, drawn: np.ndarray) -> dict[str, float | bool]:
        """What was drawn for one image, in the words of Keras, whose x runs along a row."""
        down, right, flip = drawn
        _, height, width, _ = self._images.shape
        return {"tx": right * width, "ty": down * height, "flip_horizontal": bool(flip)}


LOADER = Generated
