"""Write a bundle: the same bytes for the same results."""

import hashlib
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paragone.base.atomic_files import writing
from paragone.base.errors import UserError
from paragone.records import record
from paragone.records.bundles.contents import (
    ALLOWED,
    CONFIG,
    LISTING,
    METADATA,
    SCHEMA,
    Listing,
    digest,
)
from paragone.records.run_record import RunRecord

OF_RUN = ("record.json", "predictions.npz")  # a run that was not completed has no predictions
_TIME = (1980, 1, 1, 0, 0, 0)  # of every file in the archive
_KINDS = {".json": "application/json", ".npz": "application/zip"}


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
    crate = _crate(listing, records, output.stem)
    with writing(output, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {
            LISTING: _json(listing.to_json()),
            METADATA: _json(crate),
            **contents,
        }.items():
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


def _crate(listing: Listing, records: list[RunRecord], name: str) -> dict[str, Any]:
    """The metadata of the bundle as a Research Object Crate, which archives of data read."""
    from rocrate.rocrate import ROCrate  # imports a client of the web

    crate = ROCrate()
    crate.name = f"Paragone bundle {name}"
    crate.description = (
        f"{len(records)} training runs measured on {'; '.join(listing.machines)}; "
        f"digest {listing.digest}"
    )
    crate.license = listing.license
    crate.datePublished = _last(records)
    for path, about in listing.files.items():
        properties = {
            "name": path,
            "encodingFormat": _KINDS[Path(path).suffix],
            "contentSize": str(about["bytes"]),
            "sha256": about["sha256"],
        }
        crate.add_file(dest_path=path, properties=properties)
    found: dict[str, Any] = crate.metadata.generate()
    return found


def _last(records: list[RunRecord]) -> datetime:
    """When the last process started: the time of packing would make other bytes each time."""
    times = [datetime.fromisoformat(one.started) for each in records for one in each.processes]
    return max(times, default=datetime(1980, 1, 1, tzinfo=UTC))


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()
