"""Serialize one data set into the store, unless its arrays are there already."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from paragone.base.atomic_files import write_json
from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.data import store, synthetic
from paragone.data.catalogue import entry


def serialize(source: dict, folder: Path) -> Path:
    """The manifest in the store of the arrays made from `source`, the content of source.json.

    Nothing is decoded or imported when those arrays are there, and as they were written. Raises UserError
    when a raw file is gone or has changed since it was checked.
    """
    dataset = source["dataset"]
    files = {file["name"]: file["sha256"] for file in source["files"]}
    recipe = store.recipe(dataset, source["edition"], files, source["parameters"])
    target = store.arrays_folder(folder, recipe)
    if not store.undamaged(target):
        with store.lock(folder, dataset):
            # Another process may have built it while this one waited.
            if not store.undamaged(target):
                if target.exists():
                    print(f"{target} is damaged and is made anew", file=sys.stderr)
                    shutil.rmtree(target)  # or it would be taken for what is to be made
                _build(source, recipe, folder, target)
    return target / "manifest.json"


def _build(source: dict, recipe: dict, folder: Path, target: Path) -> None:
    facts = entry(source["dataset"])
    with store.building(target) as aside:
        if source["source"] == "synthetic":
            made = synthetic.generate(source["dataset"], source["parameters"], aside)
        else:
            made = _from_files(source, folder, aside)
        manifest = {
            "dataset": source["dataset"],
            "source": source["source"],
            "edition": source["edition"],
            "folder": target.relative_to(folder).as_posix(),
            "class_names": list(facts.class_names),
            "vocabulary": made["vocabulary"],
            "arrays": {
                f"{split}_{role}": _describe(
                    aside / f"{split}_{facts.inputs if role == 'inputs' else role}.npy"
                )
                for split in ("train", "test")
                for role in ("inputs", "labels")
            },
            "split": facts.split if source["source"] == "real" else "generated",
            "licence": facts.licence if source["source"] == "real" else "none, generated",
            "homepage": facts.homepage,
            "citation": facts.citation,
            "made_by": made["made_by"],
            "recipe": recipe,
        }
        write_json(manifest, aside / "manifest.json", indent=2)


def _from_files(source: dict, folder: Path, aside: Path) -> dict:
    for file in source["files"]:
        if file["path"] is None or not Path(file["path"]).is_file():
            where = file["path"] or f"{file['name']} of {source['dataset']}"
            raise UserError(
                f"{where} is gone since it was fetched: delete source.json of "
                f"{source['dataset']} and run again, so that it is fetched anew"
            )
    # Imported here: TensorFlow is needed only when there is something to decode.
    from paragone.data import decode

    store.check_owner(folder / "tfds", folder)
    extracted = aside / "extracted"
    with _temporary_files_in(aside / "temporary"):
        made = decode.read(source, folder / "tfds", extracted, aside)
    shutil.rmtree(extracted, ignore_errors=True)
    return made


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
