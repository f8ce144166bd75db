"""PyTorch's DataLoader, as tutorials have it: two workers that transform image by image, and collate.

Scaling is left to the model, as with the mapped arrays, where tutorials have it in the transform (ToTensor,
Normalize): what this loader costs is less than what theirs does.
"""

from collections.abc import Iterator

import numpy as np
import torch
from PIL import Image
from torch.utils import data
from torchvision.transforms.functional import pil_to_tensor

from paragone.data import Dataset
from paragone.data.augmentation import augment
from paragone.data.loaders import Batch, Step

ENGINES = ("torch", "torch_compile", "torch_ddp")
AUGMENTS = True
WORKERS = 2  # processes that load, of each process that trains

Chosen = tuple[int, np.ndarray | None]  # a row, and what was drawn for it: (3,)


class Examples(data.Dataset):
    """Training examples one by one; images through PIL, as those of torchvision's data sets."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        self.inputs, self.labels = dataset.train_inputs[:examples], dataset.train_labels
        _, *shape = self.inputs.shape
        self.images = self.inputs.dtype == np.uint8 and len(shape) == 3 and shape[2] in (1, 3)

    def stored(self, row: int) -> Image.Image | np.ndarray:
        """An example as it is stored; an image as PIL's."""
        example = np.array(
            self.inputs[row]
        )  # a copy: maps cannot be written to, which PyTorch warns of
        return as_pil(example) if self.images else example

    def __getitem__(self, chosen: Chosen) -> tuple[torch.Tensor, int]:
        """One example, (height, width, channels) or (length,), and its label."""
        row, drawn = chosen
        example = self.stored(row)
        if isinstance(example, Image.Image):
            tensor = pil_to_tensor(example).permute(1, 2, 0)
        else:
            tensor = torch.from_numpy(example)
        if drawn is not None:
            tensor = torch.from_numpy(augment(tensor[None].numpy(), drawn[None])[0])
        return tensor, int(self.labels[row])


def as_pil(image: np.ndarray) -> Image.Image:
    """(height, width, 1 or 3) uint8 as an image of PIL's."""
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)


class InWorkers:
    """The loader. Its processes start with each epoch and end with it, as those of the tutorials do."""

    examples: type[Examples] = Examples

    def __init__(self, dataset: Dataset, examples: int) -> None:
        self._examples = self.examples(dataset, examples)

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        """See `Loader.batches`."""
        loader = data.DataLoader(
            self._examples,
            batch_sampler=map(_chosen, steps),  # of pairs, not of indices
            num_workers=WORKERS,
            generator=torch.Generator(),  # a seed drawn from the usual one would change dropout's masks
        )
        for inputs, labels in loader:
            yield inputs.numpy(), labels.numpy().astype(np.int32)


def _chosen(step: Step) -> list[Chosen]:
    draws = [None] * len(step.rows) if step.drawn is None else list(step.drawn)
    return list(zip(step.rows.tolist(), draws, strict=True))


LOADER = InWorkers
