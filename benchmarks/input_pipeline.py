"""How much faster is one indexing of a mapped array than a loader that handles image by image?

    PYTHONPATH=scripts python benchmarks/input_pipeline.py

Prints ratios, each of two ways that ran in turn in one process: batches of 1,000 images read by index
against PyTorch's DataLoader with a transform per image (as the published PyTorch program has), and the
batched augmentation against one SciPy affine transform per image (as Keras' ImageDataGenerator has).
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.ndimage
import torch

from paragone.data.augmentation import augment, draw

ROUNDS = 5
BATCH = 1000


class PerImage(torch.utils.data.Dataset):
    """One image at a time: to a tensor, scaled, normalised."""

    def __init__(self, images: np.ndarray) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> torch.Tensor:
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1).float() / 255
        return (image - 0.1307) / 0.3081


def loader(images: np.ndarray) -> None:
    """Read all images through a DataLoader."""
    for _ in torch.utils.data.DataLoader(PerImage(images), batch_size=BATCH, shuffle=True):
        pass


def indexing(images: np.ndarray) -> None:
    """Read all images by index, and do the same arithmetic once a batch."""
    for chosen in np.random.default_rng(0).permutation(len(images)).reshape(-1, BATCH):
        batch = torch.from_numpy(images[chosen]).permute(0, 3, 1, 2).float() / 255
        batch = (batch - 0.1307) / 0.3081


def affine(images: np.ndarray, drawn: np.ndarray) -> None:
    """Shift and flip image by image."""
    for image, (down, right, flip) in zip(images, drawn, strict=True):
        offset = (down * image.shape[0], right * image.shape[1])
        plane = scipy.ndimage.affine_transform(
            image[..., 0].astype(np.float32), np.eye(2), offset, order=1, mode="nearest"
        )
        if flip:
            plane = np.ascontiguousarray(plane[:, ::-1])


def ratios(slow: Callable[[], object], fast: Callable[[], object]) -> list[float]:
    """Time of `slow` over time of `fast`, in turn, a ratio a round, the first round not counted."""
    found = []
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        slow()
        middle = time.perf_counter()
        fast()
        found.append((middle - begun) / (time.perf_counter() - middle))
    return found[1:]


def report(what: str, found: list[float]) -> None:
    """Print the median and the range."""
    print(f"{what}: {statistics.median(found):.1f} x ({min(found):.1f} to {max(found):.1f})")


def main() -> None:
    """Run the benchmark."""
    torch.set_num_threads(1)
    images = np.random.default_rng(0).integers(0, 256, (20 * BATCH, 28, 28, 1), dtype=np.uint8)
    report("indexing over DataLoader", ratios(lambda: loader(images), lambda: indexing(images)))
    some = images[: 2 * BATCH]
    drawn = draw(len(some), {"shift": 0.2, "flip": True}, np.random.default_rng(1))
    report(
        "batched over per-image augmentation",
        ratios(lambda: affine(some, drawn), lambda: augment(some, drawn)),
    )


if __name__ == "__main__":
    main()
