"""Reuters newswires from Keras' reuters.npz, split and marked as `keras.datasets.reuters` does."""

import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds

from paragone.data.words import FIRST_WORD, START, UNKNOWN

# The defaults of keras.datasets.reuters.load_data.
SEED = 113
TEST_SHARE = 0.2
TOPICS = 46


class Reuters(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # of TFDS
    """Newswires as lists of word indices, with one of 46 topics each."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Newswires over 46 topics; words are ranks of frequency, offset by 3.",
            features=tfds.features.FeaturesDict(
                {
                    "text": tfds.features.Tensor(shape=(None,), dtype=np.int32),
                    "label": tfds.features.ClassLabel(num_classes=TOPICS),
                }
            ),
            supervised_keys=("text", "label"),
            homepage="https://keras.io/api/datasets/reuters/",
            citation="Lewis: Reuters-21578 text categorization test collection (1997)",
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict:
        (url,) = self.url_infos
        texts, labels = keras_order(*read_npz(Path(dl_manager.download(url))))
        train = int(len(texts) * (1 - TEST_SHARE))
        return {
            "train": self._generate_examples(texts[:train], labels[:train]),
            "test": self._generate_examples(texts[train:], labels[train:]),
        }

    def _generate_examples(self, texts: list[list[int]], labels: np.ndarray) -> Iterator:
        for index, (text, label) in enumerate(zip(texts, labels, strict=True)):
            yield index, {"text": text, "label": int(label)}


BUILDER = Reuters


def keras_order(texts: np.ndarray, labels: np.ndarray) -> tuple[list[list[int]], np.ndarray]:
    """Shuffle, offset and mark the texts exactly as keras.datasets.reuters.load_data() does.

    Without `num_words` Keras takes the highest index for the number of words, so that the rarest word becomes
    "unknown". Published numbers were made so, and it is kept.
    """
    order = np.arange(len(texts))
    # Keras draws from this legacy generator.
    np.random.RandomState(SEED).shuffle(order)
    marked = [[START, *(word + FIRST_WORD for word in texts[index])] for index in order]
    highest = max(max(text) for text in marked)
    listed = [[word if word < highest else UNKNOWN for word in text] for text in marked]
    return listed, labels[order]


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return (texts, labels) of a reuters.npz.

    The texts are an array of lists, which NumPy stores as a pickle. As in Keras, it may build nothing but
    arrays.
    """
    with zipfile.ZipFile(path) as archive:
        texts, labels = (io.BytesIO(archive.read(f"{name}.npy")) for name in "xy")
    np.lib.format.read_magic(texts)
    np.lib.format.read_array_header_1_0(texts)
    return _ArraysOnly(texts).load(), np.load(labels)


class _ArraysOnly(pickle.Unpickler):
    allowed = {  # noqa: RUF012
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
    }

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"a data file must not load {module}.{name}")
        return super().find_class(module, name)
