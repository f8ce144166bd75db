"""A text, or tokens that the user brings, as one stream; each example is a window of it.

The labels of the stream are its tokens: a window's are those one place later. The tokens of a text are the
indices of their values in sorted order, over the whole text.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import STREAM
from paragone.data.forms import BYTES, CHUNK_BYTES, WHOLE, ExampleStream, Raw, kind_of
from paragone.data.words import split

ROWS = CHUNK_BYTES // 4  # tokens that are read at a time
MOST = 10_000_000  # different tokens; a model has weights for each
HEADER = 512  # places of 16 bits before the tokens of a .bin file, if there are any
SAMPLE = 2**20  # halves that are looked at
UPPER = 32  # values of the upper halves of tokens in 32 bits, for two million of them
# The number that begins the header of llm.c -> the type of the tokens behind it.
_MAGIC = {20240520: np.uint16, 20240801: np.uint32}
# Unit -> the function that gives a text's tokens.
_SPLIT: dict[str, Callable[[str], list[str]]] = {"characters": list, "words": split}


def read(source: dict, scratch: Path, store: Path) -> Raw:
    """Read a file of text by its `unit`, or with `tokens` a .npy file, or a .bin file."""
    where = f"datasets.{source['dataset']}"
    if len(source["files"]) != 1:
        raise UserError(f"{where}: a stream is one file; name one, not {len(source['files'])}")
    file, unit = Path(source["files"][0]["path"]), source["parameters"].get("unit", "characters")
    tokens, names = _tokens(file) if unit == "tokens" else _text(file, unit)
    if len(tokens) < 2 or len(names) < 2:
        raise UserError(f"{file}: holds {len(tokens)} tokens of {len(names)}; a stream needs two")

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(tokens), ROWS):
            part = tokens[start : start + ROWS].astype(np.int32)
            yield part, part

    return Raw(
        kind=STREAM,
        streams={WHOLE: ExampleStream(len(tokens), chunks, str(file))},
        class_names=names,
        made_by=f"numpy {np.__version__}",
        dtype=np.int32,
        vocabulary=len(names),
        labels_from=str(file),
    )


def _text(file: Path, unit: str) -> tuple[np.ndarray, tuple[str, ...]]:
    content = file.read_bytes()
    if kind := kind_of(content[:BYTES]):
        raise UserError(f"{file}: is {kind}")
    if unit == "bytes":
        values, indices = np.unique(np.frombuffer(content, np.uint8), return_inverse=True)
        return indices, tuple(f"{value:#04x}" for value in values)
    try:
        pieces = _SPLIT[unit](content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(
            f"{file}: byte {error.start} is not UTF-8; convert the text, or write `unit: bytes`"
        ) from None
    codes = {piece: code for code, piece in enumerate(sorted({*pieces}))}
    names = (piece if piece.strip() and piece.isprintable() else repr(piece) for piece in codes)
    return np.array([codes[piece] for piece in pieces], np.int32), tuple(names)


def _of_16_bits(file: Path, mode: Any) -> np.ndarray:
    """Map a .bin file, or that of llm.c. Raises `UserError` for another header, and tokens of 32 bits."""
    tokens: np.ndarray = np.memmap(file, np.uint16, mode)
    if kind := _MAGIC.get(int.from_bytes(tokens[:2].tobytes(), "little")):
        return np.memmap(file, kind, mode, 2 * HEADER)
    begin = tokens[: BYTES // 2].tobytes()
    if begin.startswith(b"\x93NUMPY"):
        return np.lib.format.open_memmap(file, mode=mode)
    why = "packed by gzip" if begin.startswith(b"\x1f\x8b\x08") else kind_of(begin)
    zeros = np.mean(tokens[:HEADER] == 0)
    if zeros > 0.9 > 0.5 + np.mean(tokens[HEADER : 2 * HEADER] == 0):
        why = f"a file with a header: {zeros:.0%} of its first {2 * HEADER:,} bytes are 0"
    # The upper halves of numbers in 32 bits, in either order, are 0, or have a few values.
    halves = sorted(len(np.unique(tokens[start:SAMPLE:2])) for start in (0, 1))
    if not tokens[1::2].any() or (halves[0] < UPPER and halves[1] >= 256):
        why = f"of tokens of 32 bits: every second half has {halves[0]} values alone"
    if why:
        raise UserError(
            f"{file}: seems to be {why}; a .bin file has 16 bits for each token: store others by numpy.save "
            "in a .npy file"
        )
    return tokens


def _tokens(file: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the tokens of a file of numbers, mapped, and all numbers up to the largest as names."""
    try:
        read = _of_16_bits if file.suffix == ".bin" else np.lib.format.open_memmap
        tokens = read(file, mode="r")
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read ({error}); tokens are a .npy file, or a .bin file of 16 bits each"
        ) from None
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu" or not len(tokens) or tokens.min() < 0:
        raise UserError(
            f"{file}: {tokens.dtype} of shape {tokens.shape}; tokens are integers from 0 on along one axis"
        )
    if (highest := int(tokens.max())) >= MOST:
        raise UserError(
            f"{file}: has the token {highest}, and tokens are below {MOST:,}; number them from 0 on"
        )
    return tokens, tuple(map(str, range(highest + 1)))
