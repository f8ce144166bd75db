"""Fashion-MNIST: the official builder, whose images are encoded a thousand at a time, uncompressed.

One by one and compressed, as TensorFlow Datasets encodes arrays, that took over half of the time in which the
data set is made. Its files are 63 MB instead of 38.
The arrays are the same: a test compares them with the official files.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from tensorflow_datasets.image_classification.mnist import FashionMNIST

from paragone.base.tensorflow import tf

AT_ONCE = 1000


class FashionMNISTEncoded(FashionMNIST, skip_registration=True):  # type: ignore[call-arg]  # of TFDS
    """The official examples, with PNG files for images."""

    name, url_infos = FashionMNIST.name, FashionMNIST.url_infos  # else of a data set of this name

    def _generate_examples(self, num_examples: int, data_path: Path, label_path: Path) -> Iterator:
        examples = super()._generate_examples(num_examples, data_path, label_path)
        while group := [*islice(examples, AT_ONCE)]:
            images = tf.io.encode_png(
                np.stack([example["image"] for _, example in group]), compression=0
            )
            for (key, example), image in zip(group, images.numpy(), strict=True):
                yield key, example | {"image": image}


BUILDER = FashionMNISTEncoded
