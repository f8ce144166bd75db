"""Images as arrays of one shape: decoded by Pillow, resized by TensorFlow, as in the published programs."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, PngImagePlugin, UnidentifiedImageError

from paragone.base.errors import UserError, first_line
from paragone.base.tensorflow import tf
from paragone.data.forms import BYTES, kind_of

MOST_PIXELS = 2**26  # per image; decoding takes three bytes for each
# What is decoded, whatever the name of the file says. The files of many phones (MPO) begin as JPEG.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
NAMES = "JPEG, PNG, GIF, BMP, TIFF, WebP and PPM"
FRAMES = "of several frames or pages, of which the first is taken"
ON_WHITE = "transparent, drawn on white"
SCALED = "of more than 8 bits per value, scaled by `range`"
Image.MAX_IMAGE_PIXELS = None  # `decoded` refuses too many pixels, with a message of its own
# Bytes of a text or color profile in a PNG, and of all its texts. Nothing reads them.
PngImagePlugin.MAX_TEXT_CHUNK, PngImagePlugin.MAX_TEXT_MEMORY = 2**28, 2**30


def resized(image: tf.Tensor, size: int) -> tf.Tensor:
    """Resize (height, width, channels) to (size, size, channels), bilinear, without proportions.

    Bytes stay bytes, which changes the floats that published programs use by half a gray level at most. Other
    numbers become float32.
    """
    values = tf.image.resize(image, [size, size])
    if image.dtype != np.uint8:
        return values
    return tf.cast(tf.round(tf.clip_by_value(values, 0, 255)), tf.uint8)


def decoded(
    path: Path, size: int, channels: int, limits: list[float] | None
) -> tuple[np.ndarray, list[str]]:
    """Return the image of a file, (size, size, channels) uint8, and what was converted.

    limits: the values that become 0 and 255, of an image with more than 8 bits per value. Raises `UserError`
    for what is no image, is damaged, or has too many pixels or bits.
    """
    with path.open("rb") as file:
        try:
            with Image.open(file, formats=FORMATS) as image:
                width, height = image.size
                if width * height > MOST_PIXELS:
                    raise UserError(
                        f"{path}: an image of {width} x {height} pixels; no more than {MOST_PIXELS:,} are "
                        "decoded"
                    )
                scan = file.tell()  # end of the header
                values, treated = _converted(image, channels, limits, str(path))
                file.seek(scan)
                # Without the mark of its end, Pillow takes zeros in the place of what is missing for gray.
                if image.format in ("JPEG", "MPO") and b"\xff\xd9" not in file.read():
                    raise OSError("its end is missing")
        except UnidentifiedImageError:
            file.seek(0)
            other = f"empty or of another kind than {NAMES}; convert or remove it"
            raise UserError(f"{path}: is {kind_of(file.read(BYTES)) or other}") from None
        except (UserError, MemoryError):
            raise
        except Exception as error:  # of any decoder, which has errors of its own
            raise UserError(
                f"{path}: the image is cut off or damaged ({first_line(error)}); remove or replace it"
            ) from None
    return (values if values.shape[:2] == (size, size) else resized(values, size).numpy()), treated


def _converted(
    opened: ImageFile.ImageFile, channels: int, limits: list[float] | None, name: str
) -> tuple[np.ndarray, list[str]]:
    """Return (height, width, channels) uint8 as people see the image, and what was converted."""
    treated = [FRAMES] if getattr(opened, "is_animated", False) and opened.format != "MPO" else []
    # More than 8 bits per value, which Pillow reads only without color; unknown once the image is loaded.
    raw = [
        tile.args if isinstance(tile.args, str) else (tile.args or ("",))[0] for tile in opened.tile
    ]
    deep = opened.mode[0] in "IF" or any(";16" in str(mode) for mode in raw)
    opened.load()
    image: Image.Image = opened
    if image.getexif().get(0x0112) in range(2, 9):  # others have no meaning
        treated.append("turned upright, as their EXIF orientation says")
        image = ImageOps.exif_transpose(image)
    if deep:
        image = _of_eight_bits(image, limits, name)
        treated.append(SCALED)
    if image.has_transparency_data:
        above = image.convert("RGBA")
        treated += [ON_WHITE] if np.asarray(above)[..., 3].min() < 255 else []
        image = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above)
    if image.mode == "CMYK":
        treated.append("in CMYK, converted to RGB without a color profile")
    try:
        # Palettes and CMYK have no gray of their own: by way of RGB.
        image = image if image.mode in ("1", "L") else image.convert("RGB")
        values = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    except ValueError:
        raise UserError(
            f"{name}: its colors are {image.mode}, which are not converted; save it in RGB"
        ) from None
    return values.reshape(*values.shape[:2], channels), treated


def _of_eight_bits(image: Image.Image, limits: list[float] | None, name: str) -> Image.Image:
    """Scale a gray image so that `limits` become 0 and 255. Raises `UserError` without them, or for color."""
    if image.mode[0] not in "IF":
        raise UserError(
            f"{name}: has color of 16 bits per value, which is not read; save it with 8, or store the images "
            "as arrays (form: arrays)"
        )
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise UserError(f"{name}: has a value that is not finite; remove or replace it")
    if limits is None:
        raise UserError(
            f"{name}: has more than 8 bits per value, here {values.min():g} to {values.max():g}; say which "
            "values become 0 and 255, `range: [0, 65535]` or `range: [0, 4095]` say, or store the images as "
            "arrays (form: arrays)"
        )
    low, high = limits
    scaled = np.clip((values - low) / (high - low), 0, 1)
    return Image.fromarray(np.round(scaled * 255).astype(np.uint8))
