"""Any array of images as bytes that can be drawn."""

import numpy as np


def drawable(images: np.ndarray, limits: tuple[float, float] | None = None) -> np.ndarray:
    """(n, height, width, channels) of any numbers to (n, height, width, 1 or 3) uint8.

    Bytes are drawn as they are. Other numbers are scaled so that `limits`, by default their own, become 0 and
    255. Images of other than 1 or 3 channels become the mean of their channels.
    """
    if images.shape[-1] not in (1, 3):
        images = images.mean(-1, keepdims=True, dtype=np.float64).astype(images.dtype)
    if images.dtype == np.uint8 or not images.size:
        return images.astype(np.uint8)
    low, high = limits or (float(images.min()), float(images.max()))
    scaled = (images.astype(np.float64) - low) / ((high - low) or 1)
    return np.round(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
