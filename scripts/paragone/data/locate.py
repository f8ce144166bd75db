"""Locate the files of one data set: `data.source` of the config decides how far to go."""

import hashlib
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.config import datasets
from paragone.data import store, synthetic
from paragone.data.places import ENVIRONMENT, Edition, Editions, Place, Unreachable, mirrors

OFFICIAL = "official"  # the edition at an official address


def find(dataset: str, block: dict, settings: dict) -> dict:
    """Find, check and describe the raw files of `dataset`.

    block: its block of the config's `datasets`. settings: the config's `data` block. Returns the content of
    source.json: source, edition, parameters, path, about, files and their origin. Raises `UserError` for a
    missing folder, a wrong checksum, or, with `source: real`, when no place has the data.
    """
    if settings["source"] == "synthetic":
        return _synthetic(dataset, block, "data.source is synthetic")
    if block["form"] == datasets.TFDS or "editions" in block:
        return _published(dataset, block, settings)
    return _of_user(dataset, block)


def _published(dataset: str, block: dict, settings: dict) -> dict:
    """Describe data of a builder or of listed checksums, in the store or in a place that has them."""
    folder, editions = Path(settings["folder"]), block.get("editions")
    downloads = raw(folder, dataset)
    name = block.get("builder") or block.get("mirror", dataset)
    places = mirrors(name, downloads, settings)
    if editions is None:
        # Imported here: TensorFlow Datasets is needed only for what no config lists.
        from paragone.data.forms.tfds import registered

        files = registered(dataset, block)
        editions = {OFFICIAL: {name: digest for name, (_, digest) in files.items()}}
        urls = {name: url for name, (url, _) in files.items()}
        places.append(Place(downloads, next(iter(urls.values())).rpartition("/")[0], urls))
    elif "address" in block and OFFICIAL in editions:
        places.append(Place(downloads, block["address"]))
    if stored := _stored(dataset, block, editions, folder):
        return stored
    edition, reason = search(dataset, editions, places, folder)
    if edition:
        digests = editions[edition.name]
        described = [
            {
                "name": name,
                "path": str(path.resolve()),
                "bytes": path.stat().st_size,
                "sha256": digests[name],
            }
            for name, path in edition.files.items()
        ]
        return _source(dataset, block, edition.name, edition.origin, described)
    if settings["source"] == "real":
        raise UserError(
            f"no real {dataset} found ({reason}). Put its files into the folder {name} of a "
            f"mirror named by data.mirrors or {ENVIRONMENT}, or set data.source to auto"
        )
    print(f"NOTICE: SYNTHETIC DATA in place of {dataset} ({reason})", file=sys.stderr)
    return _synthetic(dataset, block, reason)


def _of_user(dataset: str, block: dict) -> dict:
    """Describe data of the user: at `path`, or made by the form's module without any file."""
    if "path" not in block:
        return _source(dataset, block, OFFICIAL, f"made by the form {block['form']}", [])
    files = local_files(block["path"])
    if not files:
        raise UserError(
            f"datasets.{dataset}.path: there is nothing at {block['path']}; correct it, or set data.source "
            "to synthetic"
        )
    for path in datasets.data_paths(block):
        ahead = Path(path).stat().st_mtime - time.time()
        if ahead > 1:  # Snakemake ends a job whose input is newer than its output
            raise UserError(
                f"{path}: says that it was changed {ahead:,.0f} seconds from now, as by another clock; give "
                f"it the present time, `touch {path}`"
            )
    edition = store.digest(checksums(files))[:12]  # other content is another edition
    return _source(dataset, block, edition, "path of the config", files)


def search(
    name: str, editions: Editions, places: list[Place], folder: Path
) -> tuple[Edition | None, str]:
    """Search for a data set or model among the downloads, then in its places.

    folder: `data.folder`, which is locked meanwhile. Returns the first edition found, or None and why each
    place does not have it. Raises `UserError` for a wrong checksum.
    """
    downloads = raw(folder, name)
    reasons = []
    with store.lock(folder, name):
        for left in downloads.glob("*/tmp*"):  # by a download that was killed
            left.unlink()
        for listed, digests in editions.items():
            with suppress(UserError):  # a part of the edition, or damaged: to be downloaded
                if edition := Place(downloads / listed).find(name, {listed: digests}):
                    return replace(edition, origin="downloaded before"), ""
        for place in places:
            try:
                if edition := place.find(name, editions):
                    return edition, ""
                reasons.append(f"{place.title}: not there")
            except Unreachable as error:
                reasons.append(f"{place.title}: {error}")
    return None, "; ".join(reasons) or "no mirror and no official edition is listed"


def raw(folder: Path, name: str) -> Path:
    """Return the folder for the downloads of a data set or model in the store."""
    return folder / "raw" / store.plain(name)


def _stored(dataset: str, block: dict, editions: Editions, folder: Path) -> dict | None:
    """Describe the source of arrays that the store already has: no file is looked for or hashed."""
    for edition, files in editions.items():
        arrays = store.arrays_folder(
            folder, store.recipe(dataset, edition, files, datasets.shaping(block))
        )
        if store.complete(arrays):
            unread = [
                {"name": name, "path": None, "bytes": None, "sha256": digest}
                for name, digest in files.items()
            ]
            return _source(dataset, block, edition, "arrays in the data folder", unread)
    return None


def _synthetic(dataset: str, block: dict, reason: str) -> dict:
    return {
        **_source(dataset, block, "synthetic", f"generated: {reason}", []),
        "source": "synthetic",
        "parameters": synthetic.parameters(dataset, block),
        "path": None,
        "about": {key: text for key, text in block.get("about", {}).items() if key != "licence"},
    }


def _source(
    dataset: str, block: dict, edition: str, origin: str, files: list[dict[str, Any]]
) -> dict:
    return {
        "dataset": dataset,
        "source": "real",
        "edition": edition,
        "parameters": datasets.shaping(block),
        "path": block.get("path"),
        "about": block.get("about", {}),
        "origin": origin,
        "files": files,
    }


def local_files(path: str | dict[str, str]) -> list[dict[str, Any]]:
    """Return name, path, bytes and SHA-256 of each file at a block's `path`; [] if one is missing.

    A folder is represented by its direct entries. A folder among these, which may hold any number of files,
    is one entry. What is `left_behind` is ignored.
    """
    files = []
    for split in datasets.SPLITS if isinstance(path, dict) else datasets.SPLITS[:1]:
        root = Path(datasets.of_split(path, split))
        prefix = f"{split}/" if isinstance(path, dict) else ""
        if not root.exists():
            return []
        entries = sorted(root.iterdir()) if root.is_dir() else [root]
        files += [
            {"name": f"{prefix}{entry.name}", "path": str(entry), **_measured(entry)}
            for entry in entries
            if entry == root or not datasets.left_behind(entry.name)
        ]
    return files


def checksums(files: list[dict[str, Any]]) -> dict[str, str]:
    """Return name -> SHA-256 of described files."""
    return {file["name"]: file["sha256"] for file in files}


def _measured(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"bytes": path.stat().st_size, "sha256": sha256(path)}
    # The digest of a folder is the SHA-256 of what `sha256sum` prints of its files, sorted by name.
    digest, size = hashlib.sha256(), 0
    for name, file in sorted(
        (file.relative_to(path).as_posix(), file) for file in datasets.files_below(path)
    ):
        size += file.stat().st_size
        digest.update(f"{sha256(file)}  {name}\n".encode(errors="surrogateescape"))
    return {"bytes": size, "sha256": digest.hexdigest()}
