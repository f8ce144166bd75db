"""Find the source of one data set: `data.source` of the config decides how far to go."""

import os
import sys
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError
from paragone.config.datasets import TFDS, shaping
from paragone.data import local_files, lock_file, store, synthetic
from paragone.data.download import Unreachable
from paragone.data.locations import Address, Editions, Folder, Found, mirror

ENVIRONMENT = "PARAGONE_MIRRORS"
OFFICIAL = "official"  # the edition that an official address has


def find(dataset: str, block: dict, settings: dict) -> dict:
    """Find, check and describe the raw files of `dataset`.

    block: its block of the config's `datasets`; settings: the config's `data` block. Returns the content of
    source.json: source, edition, parameters, path, about, files and their origin. Raises UserError for a
    missing folder, a wrong checksum, or, with `source: real`, when no place has the data.
    """
    for key in ("folder", "source", "lock"):
        if key not in settings:
            raise UserError(f"data.{key} is missing in the config")
    if settings["source"] == "synthetic":
        return _synthetic(dataset, block, settings, "data.source is synthetic")
    if block["form"] == TFDS:
        return _published(dataset, block, settings)
    return _of_user(dataset, block, settings)


def _published(dataset: str, block: dict, settings: dict) -> dict:
    """Data of a builder: in the store, in mirrors, or where they are published."""
    folder, lock = Path(settings["folder"]), Path(settings["lock"])
    locked = {} if "editions" in block else lock_file.entry(lock, dataset).get("files", {})
    editions = block.get("editions") or ({OFFICIAL: locked} if locked else {})
    raw = folder / "raw" / store.plain(dataset)
    mirrors = named_mirrors(block["builder"], raw, settings)
    if stored := _stored(dataset, block, editions, folder):
        return stored
    official = None
    if "address" in block and OFFICIAL in editions:
        official = Address(block["address"], raw)
    elif "editions" not in block:
        # Imported here: TensorFlow Datasets is needed for what no config lists.
        from paragone.data.tfds_builders import registered

        files = registered(dataset, block)
        editions = {OFFICIAL: {name: digest for name, (_, digest) in files.items()}}
        lock_file.check(lock, dataset, editions[OFFICIAL])
        urls = {name: url for name, (url, _) in files.items()}
        title = next(iter(urls.values())).rpartition("/")[0]
        official = Address(title, raw, urls)
    found, reason = search(dataset, editions, mirrors, official, folder)
    if found:
        return _real(dataset, block, editions, found)
    if settings["source"] == "real":
        raise UserError(
            f"no real {dataset} found ({reason}). Put its files into the folder {block['builder']} of a "
            f"mirror named by data.mirrors or {ENVIRONMENT}, or set data.source to auto"
        )
    print(f"NOTICE: SYNTHETIC DATA in place of {dataset} ({reason})", file=sys.stderr)
    return _synthetic(dataset, block, settings, reason)


def _of_user(dataset: str, block: dict, settings: dict) -> dict:
    """Data of the user's own: where `path` says, or made by the form's module without any file."""
    if "path" not in block:
        return _source(dataset, block, OFFICIAL, f"made by the form {block['form']}", [])
    lock = Path(settings["lock"])
    files = local_files.described(block["path"])
    if not files:
        locked = lock_file.entry(lock, dataset).get("files", {})
        editions = {_edition(locked): locked} if locked else {}
        if stored := _stored(dataset, block, editions, Path(settings["folder"])):
            return stored
        raise UserError(
            f"datasets.{dataset}.path: there is nothing at {block['path']}; correct it, or set data.source "
            "to synthetic"
        )
    found = local_files.checksums(files)
    lock_file.check(lock, dataset, found)
    return _source(dataset, block, _edition(found), "path of the config", files)


def _edition(files: dict[str, str]) -> str:
    """A name for files that have no edition: other content, another name."""
    return store.digest(files)[:12]


def named_mirrors(name: str, raw: Path, settings: dict) -> list[Folder | Address]:
    """The places of a builder's data or of a model in the mirrors of config and environment.

    raw: where downloads go. Raises UserError for a mirror folder that does not exist.
    """
    named = [*settings.get("mirrors", []), *os.environ.get(ENVIRONMENT, "").split(";")]
    return [mirror(one.strip(), name, raw) for one in named if one.strip()]


def search(
    name: str,
    editions: Editions,
    mirrors: list[Folder | Address],
    official: Address | None,
    folder: Path,
) -> tuple[Found | None, str]:
    """Look for a data set or model: in the store, in its mirrors, at its official address.

    folder: `data.folder`, locked meanwhile. Returns the first edition found, or None and why each
    place does not have it. Raises UserError on a wrong checksum.
    """
    raw = folder / "raw" / store.plain(name)
    tried = []
    with store.lock(folder, name):
        downloaded = [
            Folder(raw / edition, "downloaded before")
            for edition in editions
            if (raw / edition).is_dir()
        ]
        for place in [*downloaded, *mirrors, *([official] if official else [])]:
            try:
                if found := place.find(name, editions):
                    return found, ""
                tried.append(f"{place.title}: not there")
            except Unreachable as error:
                tried.append(f"{place.title}: {error}")
    return None, "; ".join(tried) or "no mirror and no official edition is listed"


def _stored(dataset: str, block: dict, editions: Editions, folder: Path) -> dict | None:
    """The source of arrays that are in the store already: then no file need be found or hashed."""
    for edition, files in editions.items():
        arrays = store.arrays_folder(folder, store.recipe(dataset, edition, files, shaping(block)))
        if store.complete(arrays):
            unread = [
                {"name": name, "path": None, "bytes": None, "sha256": digest}
                for name, digest in files.items()
            ]
            return _source(dataset, block, edition, "arrays in the data folder", unread)
    return None


def _real(dataset: str, block: dict, editions: Editions, found: Found) -> dict:
    files = [
        {
            "name": name,
            "path": str(path.resolve()),
            "bytes": path.stat().st_size,
            "sha256": editions[found.edition][name],
        }
        for name, path in found.files.items()
    ]
    return _source(dataset, block, found.edition, found.origin, files)


def _synthetic(dataset: str, block: dict, settings: dict, reason: str) -> dict:
    locked = lock_file.entry(Path(settings["lock"]), dataset).get("stand_in", {})
    parameters = synthetic.parameters(dataset, block, locked)
    return {
        **_source(dataset, block, "synthetic", f"generated: {reason}", []),
        "source": "synthetic",
        "parameters": parameters,
        "path": None,
    }


def _source(
    dataset: str, block: dict, edition: str, origin: str, files: list[dict[str, Any]]
) -> dict:
    return {
        "dataset": dataset,
        "source": "real",
        "edition": edition,
        "parameters": shaping(block),
        "path": block.get("path"),
        "about": block.get("about", {}),
        "origin": origin,
        "files": files,
    }
