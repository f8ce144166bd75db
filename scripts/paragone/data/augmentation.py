"""Random shifts, crops, flips and cutouts of a batch of images, drawn once for all backends.

The shifts are those of Keras' `ImageDataGenerator(width_shift_range, height_shift_range)`: linear between
pixels, and the edge of the image is repeated outside. Gathering rows, then columns, of the whole batch is
several times faster than an affine transform per image.
"""

import numpy as np

from paragone.config.run_spec import Augmentation


def draw(batch: int, changes: Augmentation, random: np.random.Generator) -> np.ndarray:
    """(batch, 3) float64: the shifts down and right as fractions of a side, and flip, 0 or 1.

    Or (batch, 8), where images are cropped or have a square cut out: then also the offsets down and right
    of the crop in pixels, the center of the square as fractions of the sides, and its side in pixels.
    """
    shifts = random.uniform(-changes.shift, changes.shift, (batch, 2))
    flips = random.random((batch, 1)) < (0.5 if changes.flip else 0)
    if not (changes.crop or changes.cutout):
        return np.hstack([shifts, flips])
    offsets = random.integers(-changes.crop, changes.crop, (batch, 2), endpoint=True)
    centers = random.random((batch, 2))
    return np.hstack([shifts, flips, offsets, centers, np.full((batch, 1), changes.cutout)])


def augment(images: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Images (batch, height, width, channels) of any dtype, changed by draws of `draw`, as float32."""
    _, height, width, _ = images.shape
    (down, right, flip), others = drawn.T[:3], drawn.T[3:]
    images = _shift(images.astype(np.float32), down * height)
    images = _shift(images.swapaxes(1, 2), right * width).swapaxes(1, 2)
    if len(others):
        rows, columns, *center, side = others
        images = _crop(images, rows)
        images = _crop(images.swapaxes(1, 2), columns).swapaxes(1, 2)
    images = np.where(flip[:, None, None, None] > 0, images[:, :, ::-1], images)
    if len(others):
        images = images * ~_square(center, side, (height, width))
    return np.ascontiguousarray(images)


def _crop(images: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Read axis 1 at `index + offset`, pixels; 0 outside."""
    index = np.arange(images.shape[1]) + offset[:, None].astype(np.intp)
    inside = (index >= 0) & (index < images.shape[1])
    image = np.arange(len(images))[:, None]
    return images[image, np.where(inside, index, 0)] * inside[:, :, None, None]


def _square(center: list[np.ndarray], side: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(batch, height, width, 1) bool: whether a pixel is in the square around a center, fractions of `size`.

    Of its `side` pixels those outside of the image are lost (DeVries & Taylor, arXiv:1708.04552).
    """

    def within(center: np.ndarray, pixels: int) -> np.ndarray:
        first = (np.floor(center * pixels) - side // 2)[:, None]
        return (np.arange(pixels) >= first) & (np.arange(pixels) < first + side[:, None])

    rows, columns = map(within, center, size)
    return (rows[:, :, None] & columns[:, None])[..., None]


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
