"""PyTorch's DataLoader as tutorials use it: two worker processes transform image by image, then collate.

Scaling stays in the model, as with the mapped arrays; tutorials scale in the transform (ToTensor, Normalize),
so this loader costs less than theirs.
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

WORKERS = 2  # loading processes of each training process

Index = tuple[int, np.ndarray | None]  # a row and what was drawn for its augmentation


class Examples(data.Dataset):
    """Training examples one by one; images pass through PIL, as in torchvision's data sets."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        self.inputs, self.labels = dataset.train_inputs[:examples], dataset.train_labels
        _, *shape = self.inputs.shape
        self.images = self.inputs.dtype == np.uint8 and len(shape) == 3 and shape[2] in (1, 3)

    def __getitem__(self, index: Index) -> tuple[torch.Tensor, int]:
        """One example, (height, width, channels) or (length,), and its label."""
        row, drawn = index
        example = np.array(self.inputs[row])  # a copy: PyTorch warns of maps that are read-only
        if self.images:
            image = Image.fromarray(example[:, :, 0] if example.shape[2] == 1 else example)
            tensor = pil_to_tensor(image).permute(1, 2, 0)
        else:
            tensor = torch.from_numpy(example)
        if drawn is not None:
            tensor = torch.from_numpy(augment(tensor[None].numpy(), drawn[None])[0])
        return tensor, int(self.labels[row])


class WorkerProcesses:
    """The loader. Its processes start with each epoch and end with it, as in tutorials."""

    def __init__(self, dataset: Dataset, examples: int) -> None:
        self._examples = Examples(dataset, examples)

    def batches(self, steps: Iterator[Step]) -> Iterator[Batch]:
        loader = data.DataLoader(
            self._examples,
            batch_sampler=map(_indices, steps),
            num_workers=WORKERS,
            generator=torch.Generator(),  # drawing from the default one would change dropout masks
        )
        for inputs, labels in loader:
            yield inputs.numpy(), labels.numpy().astype(np.int32)


def _indices(step: Step) -> list[Index]:
    draws = [None] * len(step.rows) if step.drawn is None else list(step.drawn)
    return list(zip(step.rows.tolist(), draws, strict=True))


LOADER = WorkerProcesses
