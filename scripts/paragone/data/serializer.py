"""Serialize one data set into the store, unless its arrays are there already."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.atomic_files import write_json
from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.config.datasets import SPLITS
from paragone.data import local_files, lock_file, store, synthetic


def serialize(source: dict, folder: Path, lock: Path) -> Path:
    """The manifest in the store of the arrays made from `source`, the content of source.json.

    lock: the lock file; if it holds the data set's checksums, it takes the shapes, too. Nothing is read,
    decoded or imported when those arrays are there, and as they were written. Raises UserError when a raw
    file is gone or has changed since it was checked.
    """
    dataset = source["dataset"]
    files = local_files.checksums(source["files"])
    recipe = store.recipe(dataset, source["edition"], files, source["parameters"])
    target = store.arrays_folder(folder, recipe)
    if not store.undamaged(target):
        with store.lock(folder, dataset):
            # Another process may have built it while this one waited.
            if not store.undamaged(target):
                if target.exists():
                    print(f"{target} is damaged and is made anew", file=sys.stderr)
                    shutil.rmtree(target)  # or it would be taken for what is to be made
                _build(source, recipe, folder, target, lock)
    return target / "manifest.json"


def _build(source: dict, recipe: dict, folder: Path, target: Path, lock: Path) -> None:
    dataset, real = source["dataset"], source["source"] == "real"
    with store.building(target) as aside:
        made = _from_files(source, folder, aside) if real else synthetic.write(source, aside)
        manifest = {
            "dataset": dataset,
            "source": source["source"],
            "edition": source["edition"],
            "folder": target.relative_to(folder).as_posix(),
            "class_names": list(made["class_names"]),
            "majority": {split: _majority(aside / f"{split}_labels.npy") for split in SPLITS},
            "vocabulary": made["vocabulary"],
            "arrays": {
                f"{split}_{role}": _describe(aside / f"{split}_{role}.npy")
                for split in SPLITS
                for role in ("inputs", "labels")
            },
            "split": _split(source),
            "licence": "none, generated",
            **made["about"],
            "made_by": made["made_by"],
            "recipe": recipe,
        }
        if real and lock_file.entry(lock, dataset):
            lock_file.update(lock, dataset, stand_in=synthetic.like(manifest))
        write_json(manifest, aside / "manifest.json", indent=2)


def _from_files(source: dict, folder: Path, aside: Path) -> dict[str, Any]:
    for file in source["files"]:
        if file["path"] is None or not Path(file["path"]).exists():
            where = file["path"] or f"{file['name']} of {source['dataset']}"
            raise UserError(
                f"{where} is gone since it was fetched: delete source.json of "
                f"{source['dataset']} and run again, so that it is fetched anew"
            )
    if source["path"] is not None:  # builders check theirs as they read them
        found = local_files.checksums(local_files.described(source["path"]))
        if found != local_files.checksums(source["files"]):
            raise UserError(f"{source['dataset']} changed after its check; run again")
    # Imported here: what reads a form is needed only when there is something to read.
    from paragone.data import forms, write_arrays

    scratch, kept = aside / "scratch", folder / source["parameters"]["form"]
    store.check_owner(kept, folder)
    scratch.mkdir()
    with _temporary_files_in(aside / "temporary"):
        raw = forms.read(source, scratch, kept)
        vocabulary = write_arrays.write(raw, source, aside)
    shutil.rmtree(scratch)
    return {
        "class_names": raw.class_names,
        "vocabulary": vocabulary,
        "about": {"licence": "not stated", **raw.about, **source["about"]},
        "made_by": raw.made_by,
    }


def _split(source: dict) -> str:
    """How training and test examples were told apart, in words."""
    if source["source"] != "real":
        return "generated"
    if share := source["parameters"].get("held_out"):
        return f"{share:.0%} held out for testing, drawn by a Philox permutation"
    return "as the source has it"


def _majority(labels: Path) -> float:
    """The share of the most frequent class."""
    found = np.load(labels, mmap_mode="r")
    return float(np.bincount(found).max() / len(found))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """TensorFlow Datasets makes temporary folders that it leaves behind: here, where they are removed."""
    folder.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _describe(path: Path) -> dict:
    array = np.load(path, mmap_mode="r")
    return {
        "file": path.name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "bytes": path.stat().st_size,
        "sha256": sha256(path),
    }
