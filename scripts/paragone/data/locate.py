"""Find the source of one data set: `data.source` of the config decides how far to go."""

import os
import sys
from pathlib import Path

from paragone.base.errors import UserError
from paragone.data import store, synthetic
from paragone.data.catalogue import entry
from paragone.data.download import Unreachable
from paragone.data.locations import Address, Editions, Folder, Found, mirror

ENVIRONMENT = "PARAGONE_MIRRORS"


def find(dataset: str, settings: dict) -> dict:
    """Find, check and describe the raw files of `dataset`; settings: the config's `data` block.

    Returns the content of source.json: source, edition, parameters, files and their origin.
    Raises UserError for a missing mirror folder, a wrong checksum, or, with `source: real`, when
    no place has the data.
    """
    facts = entry(dataset)
    for key in ("folder", "source", "editions", *facts.parameters):
        if key not in settings:
            raise UserError(f"data.{key} is missing in the config")
    folder = Path(settings["folder"])
    parameters = {name: settings[name] for name in facts.parameters}
    if settings["source"] == "synthetic":
        return _synthetic(dataset, parameters, "data.source is synthetic")
    editions = settings["editions"].get(dataset, {})
    mirrors = named_mirrors(dataset, settings)
    if stored := _stored(dataset, editions, parameters, folder):
        return stored
    found, reason = search(dataset, editions, mirrors, facts.address, folder)
    if found:
        return _real(dataset, parameters, editions, found)
    if settings["source"] == "real":
        raise UserError(
            f"no real {dataset} found ({reason}). Put its files into the folder {dataset} of a "
            f"mirror named by data.mirrors or {ENVIRONMENT}, or set data.source to auto"
        )
    print(f"NOTICE: SYNTHETIC DATA in place of {dataset} ({reason})", file=sys.stderr)
    return _synthetic(dataset, parameters, reason)


def named_mirrors(name: str, settings: dict) -> list[Folder | Address]:
    """The places of a data set or model in the mirrors of config and environment.

    Raises UserError for a mirror folder that does not exist.
    """
    named = [*settings.get("mirrors", []), *os.environ.get(ENVIRONMENT, "").split(";")]
    raw = Path(settings["folder"]) / "raw" / name
    return [mirror(one.strip(), name, raw) for one in named if one.strip()]


def search(
    name: str, editions: Editions, mirrors: list[Folder | Address], address: str, folder: Path
) -> tuple[Found | None, str]:
    """Look for a data set or model: in the store, in its mirrors, at its official address.

    folder: `data.folder`, locked meanwhile. Returns the first edition found, or None and why each
    place does not have it. Raises UserError on a wrong checksum.
    """
    raw = folder / "raw" / name
    official = [Address(address, raw)] if "official" in editions else []
    tried = []
    with store.lock(folder, name):
        downloaded = [
            Folder(raw / edition, "downloaded before")
            for edition in editions
            if (raw / edition).is_dir()
        ]
        for place in [*downloaded, *mirrors, *official]:
            try:
                if found := place.find(name, editions):
                    return found, ""
                tried.append(f"{place.title}: not there")
            except Unreachable as error:
                tried.append(f"{place.title}: {error}")
    return None, "; ".join(tried) or "no mirror and no official edition is listed"


def _stored(dataset: str, editions: dict, parameters: dict, folder: Path) -> dict | None:
    """The source of arrays that are in the store already: then no file need be found or hashed."""
    for edition, files in editions.items():
        arrays = store.arrays_folder(folder, store.recipe(dataset, edition, files, parameters))
        if store.complete(arrays):
            unread = [
                {"name": name, "path": None, "bytes": None, "sha256": digest}
                for name, digest in files.items()
            ]
            return _source(dataset, edition, parameters, "arrays in the data folder", unread)
    return None


def _real(dataset: str, parameters: dict, editions: dict, found: Found) -> dict:
    files = [
        {
            "name": name,
            "path": str(path.resolve()),
            "bytes": path.stat().st_size,
            "sha256": editions[found.edition][name],
        }
        for name, path in found.files.items()
    ]
    return _source(dataset, found.edition, parameters, found.origin, files)


def _synthetic(dataset: str, parameters: dict, reason: str) -> dict:
    drawn = parameters | synthetic.PARAMETERS
    return _source(dataset, "synthetic", drawn, f"generated: {reason}", [])


def _source(dataset: str, edition: str, parameters: dict, origin: str, files: list[dict]) -> dict:
    return {
        "dataset": dataset,
        "source": "real" if files else "synthetic",
        "edition": edition,
        "parameters": parameters,
        "origin": origin,
        "files": files,
    }
