"""Images as arrays of one shape. Imports TensorFlow, whose resizing the published programs use."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from paragone.base.errors import UserError


def resized(image: tf.Tensor, size: int) -> tf.Tensor:
    """(height, width, channels) uint8 to (size, size, channels), bilinear, without keeping proportions.

    Half a gray level at most from the floats that a published program may use instead.
    """
    found = tf.image.resize(image, [size, size])
    return tf.cast(tf.round(tf.clip_by_value(found, 0, 255)), tf.uint8)


def decoded(path: Path, size: int, channels: int) -> np.ndarray:
    """The PNG, JPEG, GIF or BMP image of a file, (size, size, channels) uint8; of several frames the first.

    Raises `UserError` for a file that is no such image.
    """
    try:
        image = tf.io.decode_image(path.read_bytes(), channels=channels, expand_animations=False)
    except tf.errors.InvalidArgumentError:
        raise UserError(
            f"{path}: not a PNG, JPEG, GIF or BMP image; remove or replace it"
        ) from None
    return (image if image.shape[:2] == (size, size) else resized(image, size)).numpy()
