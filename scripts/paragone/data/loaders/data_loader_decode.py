"""PyTorch's DataLoader over encoded images, each decoded by PIL whenever it is loaded.

They are PNG files in memory, made once of the stored images: nothing is lost, and whatever a data set was
made from, its images have the stored size. A photo's JPEG takes longer (see the loader `tf_data`).
"""

import io

import numpy as np
from PIL import Image

from paragone.base.errors import Unavailable
from paragone.data import Dataset
from paragone.data.loaders.data_loader import Examples, InWorkers, as_pil

ENGINES = ("torch", "torch_compile", "torch_ddp")
AUGMENTS = True


class EncodedExamples(Examples):
    """The same examples from PNG files in memory."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        super().__init__(dataset, examples)
        if not self.images:
            raise Unavailable(
                "loader data_loader_decode: reads images of 8 bits, grey or RGB, alone"
            )
        self._files = [_encoded(image) for image in self.inputs]

    def stored(self, row: int) -> Image.Image:
        """The image, decoded."""
        return Image.open(io.BytesIO(self._files[row]))


def _encoded(image: np.ndarray) -> bytes:
    file = io.BytesIO()
    as_pil(image).save(file, "png")
    return file.getvalue()


class Decoding(InWorkers):
    """The loader."""

    examples = EncodedExamples


LOADER = Decoding
