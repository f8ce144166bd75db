"""Files of idx, as those of MNIST; what they hold becomes a data set as arrays do.

A file has two zeros, a code of the type, the number of axes, the length of each, and the values, big endian.
"""

import gzip
import re
import zlib
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS, of_split
from paragone.data import forms
from paragone.data.forms.arrays import Stored, of_arrays

_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
# What is in the names of files, of a key and of a split.
_MARKS = {"inputs": "images", "labels": "labels", "train": "train", "test": "t10k|test"}


def read(source: dict, scratch: Path, store: Path) -> forms.Raw:
    """Read the files that the block names, else those of the folder whose names say what they are."""
    splits = (forms.WHOLE,) if "held_out" in source["parameters"] else SPLITS
    inputs, labels = (
        {split: _array(_file(source, key, split)) for split in splits}
        for key in ("inputs", "labels")
    )
    return of_arrays(source, "labels", inputs, labels)


def _file(source: dict, key: str, split: str) -> Path:
    """Return a split's file of images or labels. Raises `UserError` if there is none, or more than one."""
    options, separate = source["parameters"], isinstance(source["path"], dict)
    paths = [
        Path(file["path"])
        for file in source["files"]
        if not separate or file["name"].startswith(f"{split}/")
    ]
    # A file that is there packed and unpacked is one.
    files = {path.name.removesuffix(".gz"): path for path in sorted(paths, reverse=True)}
    if key in options:
        chosen = {of_split(options[key], split).removesuffix(".gz")} & {*files}
    else:
        roles = [key] if separate or split == forms.WHOLE else [key, split]
        marks = [_MARKS[role] for role in roles]
        chosen = {name for name in files if all(re.search(mark, name.lower()) for mark in marks)}
    if len(chosen) != 1:
        raise UserError(
            f"datasets.{source['dataset']}.{key}: {len(chosen)} files seem to be those of the "
            f"{split} split, among {', '.join(map(str, [*files.values()][:8])) or 'none'}; name one for each "
            "split, or one and `held_out`"
        )
    return files[chosen.pop()]


def _array(file: Path) -> Stored:
    """Return the array of a file. Raises `UserError` for another kind of file, and one that is cut off."""
    content = file.read_bytes()
    try:
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        axes = content[3]
        shape = np.frombuffer(content, ">u4", axes, 4).tolist()
        values = np.frombuffer(content, _TYPES[content[2]], offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, zlib.error, LookupError, ValueError):
        kind = forms.kind_of(content[: forms.BYTES]) or "no whole idx file; take another copy"
        raise UserError(f"{file}: is {kind}") from None
    return Stored(str(file), values)
