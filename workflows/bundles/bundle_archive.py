"""Bundles: the records of a machine, and the config that asked for them, in one archive that checks itself.

The same results make the same bytes. A bundle may come from somebody else: everything in it is checked
before anything is written.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import msgspec

from paragone.base import atomic_files
from paragone.base.atomic_files import write_bytes, writing
from paragone.base.errors import UserError
from paragone.plan.plan import AGAIN, RECORD
from paragone.records.contest_record import ContestsRecord
from paragone.records.record import Record, decoded
from paragone.records.run_record import Process, RunRecord

SCHEMA = 1
LISTING, CONFIG = "bundle.json", "config.json"
# The files that a bundle may hold, by their names in a folder of results: no name leads out of the folder.
ALLOWED = re.compile(
    r"runs/\w[\w.-]*/(record\.json|predictions\.npz)"
    r"|contests/\w[\w.-]*/record\.json"
    r"|data/(tfds/)?\w+/manifest\.json"
    r"|(parity|matmul)/\w[\w-]*\.json"
    rf"|{re.escape(CONFIG)}"
)
MOST = 2**30  # bytes that a bundle, or the arrays of a file in it, may unpack to
_TIME = (1980, 1, 1, 0, 0, 0)  # of every file in the archive
# zipfile raises RuntimeError for encryption, and its subclass NotImplementedError for unknown compression.
_DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
_ASK = "ask who made it for another copy"
_AGAIN = "delete it and run again"


class File(msgspec.Struct, forbid_unknown_fields=True):
    """A file of a bundle: its digest and its size."""

    sha256: str
    bytes: int


class Listing(msgspec.Struct, forbid_unknown_fields=True):
    """The content of `bundle.json`.

    `files` are by name, and `digest` is the SHA-256 of their canonical JSON: bundles with the same content
    have the same digest. `experiments` has the names of the runs of each, `contests` the questions of those
    that have contests.
    """

    schema: int
    digest: str
    license: str
    machines: list[str]
    experiments: dict[str, list[str]]
    files: dict[str, File]
    contests: dict[str, list[str]] = {}


def digest(files: dict[str, File]) -> str:
    """The digest of the files of a bundle."""
    return atomic_files.sha256_of(msgspec.to_builtins(files))


def pack(
    results: Path,
    paths: list[Path],
    config: dict[str, Any],
    experiments: dict[str, list[str]],
    contests: dict[str, list[str]],
    license_: str,
    output: Path,
) -> Listing:
    """Write a bundle of the files at `paths`, below the folder `results`, and of the config.

    Raises `UserError` for a file that no bundle holds, or a record that is not valid.
    """
    contents = {
        path.relative_to(results).as_posix().replace(AGAIN, RECORD): path.read_bytes()
        for path in paths  # a question that was taken up again has one record here, too
    }
    contents[CONFIG] = (json.dumps(config, indent=1, sort_keys=True) + "\n").encode()
    for name in contents:
        if not ALLOWED.fullmatch(name):
            raise UserError(f"{results / name}: not a file of a bundle; name what was measured")
    records = [
        _record(f"{results / name}", content, name.split("/")[1], _AGAIN)
        for name, content in contents.items()
        if name.endswith("record.json")
    ]
    if not records:
        raise UserError(f"{output}: no record to put into it; train first")
    machines = {
        f"{machine.host}: {machine.processor} [{machine.fingerprint[:6]}]"
        for record in records
        for machine in (process.machine for process in _processes(record))
    }
    files = {
        name: File(hashlib.sha256(content).hexdigest(), len(content))
        for name, content in sorted(contents.items())
    }
    hosts = sorted(machines)
    listing = Listing(SCHEMA, digest(files), license_, hosts, experiments, files, contests)
    first = msgspec.json.format(msgspec.json.encode(listing, order="sorted"))
    with writing(output, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {LISTING: first, **dict(sorted(contents.items()))}.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return listing


def read(path: Path) -> tuple[Listing, dict[str, bytes]]:
    """The listing of a bundle and the content of its files, by name, all checked.

    Raises `UserError` that names the bundle and what is wrong: not an archive, damaged, another schema, a
    name that leads elsewhere, more bytes than listed, a file or a record without its digest.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            listing = _listing(path, archive)
            names = listing.files
            contents = {name: _content(path, archive, name, names[name]) for name in names}
            for name, content in contents.items():
                if name.endswith(".npz"):
                    _check_arrays(f"{path}: {name}", content)
                elif name.endswith("record.json"):
                    _record(f"{path}: {name}", content, name.split("/")[1])
            return listing, contents
    except _DAMAGED as error:
        raise UserError(f"{path}: not a whole archive ({error}); {_ASK}") from None


def read_config(path: Path) -> tuple[Listing, dict[str, Any]]:
    """The listing and the config of a bundle; its other files are not read. Raises as `read` does."""
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
    names = [info.filename for info in archive.infolist()]
    if LISTING not in names:
        raise UserError(f"{path}: no {LISTING} in it; make bundles with workflows/bundles")
    try:
        listing = msgspec.json.decode(_limited(path, archive, LISTING, MOST), type=Listing)
    except msgspec.MsgspecError as error:
        raise UserError(f"{path}: {LISTING} is not readable ({error}); {_ASK}") from None
    if listing.schema != SCHEMA:
        raise UserError(
            f"{path}: schema version {listing.schema}, this version of Paragone knows {SCHEMA}; "
            "use the version that made it"
        )
    expected = {LISTING, *listing.files}
    for name in names:
        if name not in expected or not (name == LISTING or ALLOWED.fullmatch(name)):
            raise UserError(f"{path}: {name!r} is no file of a bundle; do not use this archive")
    if missing := {*expected, CONFIG} - set(names):
        raise UserError(f"{path}: {min(missing)} is missing; {_ASK}")
    if len(names) != len(expected):
        raise UserError(f"{path}: a name is there twice; do not use this archive")
    if listing.digest != digest(listing.files):
        raise UserError(f"{path}: its digest is not that of its files; {_ASK}")
    if sum(file.bytes for file in listing.files.values()) > MOST:
        raise UserError(f"{path}: unpacks to more than {MOST >> 20} MiB; no bundle is so large")
    return listing


def _content(path: Path, archive: zipfile.ZipFile, name: str, file: File) -> bytes:
    content = _limited(path, archive, name, file.bytes)
    if hashlib.sha256(content).hexdigest() != file.sha256:
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


def _record(where: str, content: bytes, folder: str, remedy: str = _ASK) -> Record:
    """The record, of a run or of contests, of a file below the folder of this name."""
    try:
        record = decoded(content)
    except ValueError as error:
        raise UserError(f"{where}: not a valid record ({error}); {remedy}") from None
    folder_name = record.question if isinstance(record, ContestsRecord) else record.run
    if folder_name != folder:
        raise UserError(f"{where}: the record of {folder_name}; {remedy}")
    return record


def _processes(record: Record) -> list[Process]:
    """All processes that a record names."""
    if isinstance(record, RunRecord):
        return record.processes
    contestants = (contestant for contest in record.contests for contestant in contest.contestants)
    return [process for contestant in contestants for process in contestant.processes]
