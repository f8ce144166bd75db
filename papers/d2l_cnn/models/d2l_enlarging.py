"""Where the pixels of an enlarged image lie, for frameworks without such a layer in double precision."""

import numpy as np

from paragone.base.errors import UserError


def between(side: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the pixels of an enlarged image's side lie between those of the smaller image.

    Bilinear, with the corners of both images at one place, as PyTorch's `Upsample` has it. Returns (size,)
    arrays: the indices of the pixels before and after, and the share of the latter, in double precision.
    Raises `UserError` for a size that is smaller than the side.
    """
    if size < side:
        raise UserError(
            f"model.resize: {size} is less than the {side} pixels of the images; enlarge them"
        )
    places = np.clip((np.arange(size) + 0.5) * side / size - 0.5, 0, side - 1)
    before = places.astype(np.int32)
    return before, np.minimum(before + 1, side - 1), places - before
