"""Write a bundle: the same bytes for the same results."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

from paragone.base.atomic_files import writing
from paragone.base.errors import UserError
from paragone.records import record
from paragone.records.bundles.contents import (
    ALLOWED,
    CONFIG,
    LISTING,
    SCHEMA,
    Listing,
    digest,
)
from paragone.records.run_record import RunRecord

OF_RUN = ("record.json", "predictions.npz")  # a run that was not completed has no predictions
_TIME = (1980, 1, 1, 0, 0, 0)  # of every file in the archive


def pack(
    results: Path,
    paths: list[Path],
    config: dict[str, Any],
    experiments: dict[str, list[str]],
    license_: str,
    output: Path,
) -> Listing:
    """Write the files at `paths`, below the folder `results`, and the config that asked for them.

    Raises `UserError` for a file that no bundle holds, or a record that is not valid.
    """
    contents = {path.relative_to(results).as_posix(): path.read_bytes() for path in sorted(paths)}
    contents[CONFIG] = _json(config)
    for name in contents:
        if not ALLOWED.fullmatch(name):
            raise UserError(f"{results / name}: not a file of a bundle; name what was measured")
    records = [record.read(path) for path in sorted(paths) if path.name == "record.json"]
    if not records:
        raise UserError(f"{output}: no record to put into it; train first")
    listing = _listing(contents, records, experiments, license_)
    with writing(output, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {LISTING: _json(listing.to_json()), **contents}.items():
            about = zipfile.ZipInfo(name, _TIME)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            archive.writestr(about, content)
    return listing


def _listing(
    contents: dict[str, bytes],
    records: list[RunRecord],
    experiments: dict[str, list[str]],
    license_: str,
) -> Listing:
    files = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in sorted(contents.items())
    }
    machines = {
        f"{one.machine.host}: {one.machine.processor} [{one.machine.fingerprint[:6]}]"
        for record in records
        for one in record.processes
    }
    return Listing(SCHEMA, digest(files), license_, sorted(machines), experiments, files)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()
