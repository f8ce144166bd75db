"""Archives that strangers may have made: what is wrong with one is found before anything is made of it."""

import gzip
import stat
import zipfile
from pathlib import Path, PurePosixPath

from paragone.base.errors import UserError

# An archive that unpacks to more than both is a bomb: a photograph or an array of ours never does.
MOST, TIMES = 2**30, 100


def check(path: Path) -> None:
    """Raise `UserError` for an archive (.zip, .npz, .gz) that leads out of its folder, links, or is a bomb.

    Other files pass. Nothing is written, and no more than a block is in memory.
    """
    if zipfile.is_zipfile(path):
        _check_zip(path)
    elif path.suffix == ".gz":
        with gzip.open(path) as file:
            unpacked = 0
            while block := file.read(2**20):
                unpacked += len(block)
                _check_size(path, unpacked)


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for one in members:
        name = PurePosixPath(one.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in one.filename:
            raise UserError(f"{path}: {one.filename!r} leads out of the archive; do not use it")
        if stat.S_ISLNK(one.external_attr >> 16):
            raise UserError(f"{path}: {one.filename!r} is a link; do not use this archive")
    # Python reads no more of a member than this says.
    _check_size(path, sum(one.file_size for one in members))


def _check_size(path: Path, unpacked: int) -> None:
    if unpacked > max(MOST, TIMES * path.stat().st_size):
        raise UserError(
            f"{path}: unpacks to more than {MOST >> 20} MiB and {TIMES} times its size: a bomb; do not use it"
        )
