"""Read a bundle that somebody else may have made: all is checked before anything is written."""

import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from paragone.base.atomic_files import write_bytes
from paragone.base.errors import UserError
from paragone.records.bundles.contents import (
    ALLOWED,
    CONFIG,
    LISTING,
    SCHEMA,
    Listing,
    digest,
)
from paragone.records.run_record import RunRecord
from paragone.records.schemas import valid

# Bytes that a bundle may unpack to, and those that the arrays of a file in it may take.
MOST = 2**30
# RuntimeError: encrypted; NotImplementedError, which is one: an unknown method of compression.
_DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
_ASK = "ask who made it for another copy"


def read(path: Path) -> tuple[Listing, dict[str, bytes]]:
    """The listing of a bundle and the content of its files, by name, all checked.

    Raises `UserError` that names the bundle and what is wrong: not an archive, damaged, another schema,
    a name that leads elsewhere, more than it says, a file or a record without its digest.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            listing = _listing(path, archive)
            return listing, _contents(path, archive, listing)
    except _DAMAGED as error:
        raise UserError(f"{path}: not a whole archive ({error}); {_ASK}") from None


def read_config(path: Path) -> tuple[Listing, dict[str, Any]]:
    """The listing and the config of a bundle, for a look at what it holds. Raises as `read` does."""
    try:
        with zipfile.ZipFile(path) as archive:
            listing = _listing(path, archive)
            return listing, json.loads(_content(path, archive, CONFIG, listing.files[CONFIG]))
    except _DAMAGED as error:
        raise UserError(f"{path}: not a whole archive ({error}); {_ASK}") from None


def write(contents: dict[str, bytes], folder: Path) -> None:
    """Write checked files into a folder of results."""
    for name, content in contents.items():
        write_bytes(content, folder / name)


def _listing(path: Path, archive: zipfile.ZipFile) -> Listing:
    names = [one.filename for one in archive.infolist()]
    if LISTING not in names:
        raise UserError(f"{path}: no {LISTING} in it; make bundles with `snakemake bundle`")
    try:
        found = json.loads(_limited(path, archive, LISTING, MOST))
        schema = found["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: {LISTING} is not readable ({error!r}); {_ASK}") from None
    if schema != SCHEMA:
        raise UserError(
            f"{path}: schema version {schema}, this version of Paragone knows {SCHEMA}; "
            "use the version that made it, or a newer one"
        )
    try:
        listing = valid(Listing, found, "bundle")
    except ValueError as error:
        raise UserError(f"{path}: {LISTING}: {error}; {_ASK}") from None
    expected = {LISTING, *listing.files}
    for name in names:
        if name not in expected or not (name == LISTING or ALLOWED.fullmatch(name)):
            raise UserError(f"{path}: {name!r} is no file of a bundle; do not use this archive")
    if missing := expected - set(names):
        raise UserError(f"{path}: {min(missing)} is missing; {_ASK}")
    if len(names) != len(expected):
        raise UserError(f"{path}: a name is there twice; do not use this archive")
    if listing.digest != digest(listing.files):
        raise UserError(f"{path}: its digest is not that of its files; {_ASK}")
    if sum(one["bytes"] for one in listing.files.values()) > MOST:
        raise UserError(f"{path}: unpacks to more than {MOST >> 20} MiB; no bundle is so large")
    return listing


def _contents(path: Path, archive: zipfile.ZipFile, listing: Listing) -> dict[str, bytes]:
    contents = {name: _content(path, archive, name, about) for name, about in listing.files.items()}
    for name, content in contents.items():
        if name.endswith(".npz"):
            _check_arrays(f"{path}: {name}", content)
        elif name.endswith("record.json"):
            _check_record(f"{path}: {name}", content, Path(name).parent.name)
    return contents


def _content(path: Path, archive: zipfile.ZipFile, name: str, about: dict[str, Any]) -> bytes:
    content = _limited(path, archive, name, about["bytes"])
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise UserError(f"{path}: {name} is not what was packed (SHA-256); {_ASK}")
    return content


def _limited(path: Path, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A file of at most so many bytes, whatever the archive says of its size."""
    with archive.open(name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UserError(f"{path}: {name} unpacks to more than it says; do not use this archive")
    return content


def _check_arrays(where: str, content: bytes) -> None:
    """Arrays are an archive of their own, and may unpack to more than they say as well."""
    with zipfile.ZipFile(io.BytesIO(content)) as arrays:
        left = MOST
        for name in arrays.namelist():
            with arrays.open(name) as file:
                while chunk := file.read(2**20):
                    left -= len(chunk)
                    if left < 0:
                        raise UserError(f"{where}: unpacks to more than {MOST >> 20} MiB")


def _check_record(where: str, content: bytes, run: str) -> None:
    try:
        record = valid(RunRecord, json.loads(content), "record")
    except ValueError as error:
        raise UserError(f"{where}: not a valid record ({error}); {_ASK}") from None
    if record.run != run:
        raise UserError(f"{where}: the record of {record.run}; {_ASK}")
    if record.digest != record.expected_digest():
        raise UserError(f"{where}: was changed after it was measured (its digest); {_ASK}")
