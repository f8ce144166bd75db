"""tf.data over the files that TensorFlow Datasets prepared: each image is decoded and resized when read.

The pipeline of the published MobileNetV2 program: TFDS decodes in parallel, a `map` resizes one image after
the other, then `batch`. It leaves out two parts: the buffer of 1,024 shuffled images, as the order is given,
and the division by 255, which is in the model.
"""

import os
from collections.abc import Iterator

import numpy as np

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf
from paragone.data import Dataset
from paragone.data.forms.tfds import encoded
from paragone.data.loaders import Batch, Step


class FromFiles:
    """The loader. All image files are in memory, where the page cache has them after one epoch anyway.

    Raises `UserError` if the files are not those from which the arrays were serialized.
    """

    def __init__(self, dataset: Dataset, examples: int) -> None:
        images = encoded(dataset, examples)
        self._files, self._labels = tf.constant(images.files), dataset.train_labels
        # Traced once, although each epoch creates a new pipeline.
        self._decode = tf.function(
            lambda row: images.decode(self._files[row]),
            input_signature=[tf.TensorSpec((), tf.int64)],
            autograph=False,
        )
        self._resize = tf.autograph.experimental.do_not_convert(images.resize)
        if not np.array_equal(
            self._resize(self._decode(tf.constant(0, tf.int64))), dataset.train_inputs[0]
        ):
            raise UserError(
                f"{images.folder}: its images are not those that the arrays of {dataset.name} were made of; "
                "delete this folder and that of the arrays, then run again"
            )

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        planned = list(steps)
        if not planned:
            return
        cores = len(os.sched_getaffinity(0))
        rows = np.concatenate([step.rows for step in planned])
        images = (
            tf.data.Dataset.from_tensor_slices(rows)
            .map(self._decode, num_parallel_calls=cores)
            .map(self._resize)
            .batch(len(planned[0].rows))
            .with_options(_options(cores))
        )
        for step, inputs in zip(planned, images.as_numpy_iterator(), strict=True):
            yield inputs, self._labels[step.rows]


def _options(cores: int) -> tf.data.Options:
    """A private thread pool, since an engine's pipeline that waits for this one may hold all shared threads.

    Without autotuning, for the reason given in `engines.tensorflow`.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    options.threading.private_threadpool_size = cores
    return options


LOADER = FromFiles
