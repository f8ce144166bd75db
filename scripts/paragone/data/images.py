"""Images as arrays of one shape. Imports TensorFlow, whose resizing the published programs use."""

import struct
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.base.tensorflow import tf

MOST_PIXELS = 2**26  # of an image; decoding takes three bytes for each
# Where a file says its width and height, in bytes, by what it begins with.
_JPEG = b"\xff\xd8\xff"
_SIZES = {b"\x89PNG": (16, ">II"), b"GIF8": (6, "<HH"), b"BM": (18, "<ii")}


def check_pixels(content: bytes, name: str) -> None:
    """Raise `UserError` for an image of more pixels than memory is for, which is not decoded.

    Anything that is no image of these kinds passes.
    """
    width = height = 0
    if content.startswith(_JPEG):
        height, width, _ = (int(one) for one in tf.io.extract_jpeg_shape(content).numpy())
    for begin, (offset, form) in _SIZES.items():
        if content.startswith(begin) and len(content) >= offset + struct.calcsize(form):
            width, height = struct.unpack_from(form, content, offset)
    if abs(width * height) > MOST_PIXELS:
        raise UserError(
            f"{name}: an image of {width} x {height} pixels; no more than {MOST_PIXELS:,} are decoded"
        )


def resized(image: tf.Tensor, size: int) -> tf.Tensor:
    """(height, width, channels) uint8 to (size, size, channels), bilinear, without keeping proportions.

    Half a gray level at most from the floats that a published program may use instead.
    """
    found = tf.image.resize(image, [size, size])
    return tf.cast(tf.round(tf.clip_by_value(found, 0, 255)), tf.uint8)


def decoded(path: Path, size: int, channels: int) -> np.ndarray:
    """The PNG, JPEG, GIF or BMP image of a file, (size, size, channels) uint8; of several frames the first.

    Raises `UserError` for a file that is no such image, or one of too many pixels.
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
