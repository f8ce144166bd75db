"""Images as arrays of one shape. Imports TensorFlow, whose resizing the published programs use."""

import struct
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf

MOST_PIXELS = 2**26  # per image; decoding takes three bytes for each
# First bytes of a format -> offset of width and height in the file, and how they are packed.
_JPEG = b"\xff\xd8\xff"
_SIZES = {b"\x89PNG": (16, ">II"), b"GIF8": (6, "<HH"), b"BM": (18, "<ii")}


def check_pixels(content: bytes, name: str) -> None:
    """Raise `UserError` for an image of more than `MOST_PIXELS`; files of other formats pass."""
    width = height = 0
    if content.startswith(_JPEG):
        height, width, _ = (int(side) for side in tf.io.extract_jpeg_shape(content).numpy())
    for first_bytes, (offset, form) in _SIZES.items():
        if content.startswith(first_bytes) and len(content) >= offset + struct.calcsize(form):
            width, height = struct.unpack_from(form, content, offset)
    if abs(width * height) > MOST_PIXELS:
        raise UserError(
            f"{name}: an image of {width} x {height} pixels; no more than {MOST_PIXELS:,} are decoded"
        )


def resized(image: tf.Tensor, size: int) -> tf.Tensor:
    """(height, width, channels) uint8 to (size, size, channels), bilinear, not keeping proportions.

    Rounding changes the floats that published programs use by half a gray level at most.
    """
    values = tf.image.resize(image, [size, size])
    return tf.cast(tf.round(tf.clip_by_value(values, 0, 255)), tf.uint8)


def decoded(path: Path, size: int, channels: int) -> np.ndarray:
    """The PNG, JPEG, GIF or BMP image of a file, (size, size, channels) uint8; the first of several frames.

    Raises `UserError` for another file, and for too many pixels.
    """
    content = path.read_bytes()
    if not content.startswith((_JPEG, *_SIZES)):
        raise UserError(_no_image(path))
    try:
        check_pixels(content, str(path))
        image = tf.io.decode_image(content, channels=channels, expand_animations=False)
    except tf.errors.InvalidArgumentError:
        raise UserError(_no_image(path)) from None
    return (image if image.shape[:2] == (size, size) else resized(image, size)).numpy()


def _no_image(path: Path) -> str:
    return f"{path}: not a PNG, JPEG, GIF or BMP image; remove or replace it"
