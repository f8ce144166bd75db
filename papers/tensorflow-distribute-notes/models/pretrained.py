"""MobileNetV2's published weights: located like raw data and converted once to canonical arrays.

The program fetch.py calls `provide`. The store keeps weights.npz and manifest.json in
weights/<model>-<recipe>/.
"""

import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np

from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError, first_line
from paragone.data import store
from paragone.data.locate import OFFICIAL, search
from paragone.models.weights import Weights

# Where Keras publishes them: BASE_WEIGHT_PATH of keras.applications, which is slow to import.
ADDRESSES = {
    "mobilenet-v2": "https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2"
}
# Raise this when the conversion changes its result.
RECIPE = 1


def provide(model: str, settings: dict) -> dict:
    """Describe the ImageNet weights of `model`; settings: the config's `data` block.

    Returns the initializer ("imagenet", or "keras" for random draws if there are no published weights), the
    file of canonical arrays relative to `data.folder`, the SHA-256 of the published file and its origin (each
    None for random draws). How the file was found is left out, so that a repeated search changes nothing.
    Raises `UserError` for an unknown model, a wrong checksum, or, with `source: real`, a missing file.
    """
    if model not in ADDRESSES:
        raise UserError(f"no weights of {model!r} are published; known: {', '.join(ADDRESSES)}")
    files = settings["pretrained"].get(model, {})
    if settings["source"] == "synthetic":
        return _random(model, "data.source is synthetic")
    if not files:
        return _without(model, settings, f"data.pretrained.{model} lists no file")
    folder = Path(settings["folder"])
    target = _target(folder, model, files)
    store.check_owner(target, folder)
    if not _complete(target):
        edition, reason = search(model, {OFFICIAL: files}, settings, model, ADDRESSES[model])
        if edition is None:
            return _without(model, settings, reason)
        with store.lock(folder, model):
            if not _complete(target):  # another process may have written it meanwhile
                ((name, path),) = edition.files.items()
                _convert(model, path, files[name], edition.origin, target, folder)
    return json.loads((target / "manifest.json").read_bytes())


def _without(model: str, settings: dict, reason: str) -> dict:
    if settings["source"] == "real":
        raise UserError(
            f"no ImageNet weights of {model} found ({reason}). Put the file into the folder "
            f"{model} of a mirror named by data.mirrors or PARAGONE_MIRRORS, set data.source to "
            "auto, or the workload's initializer to keras"
        )
    return _random(model, reason)


def _random(model: str, reason: str) -> dict:
    print(
        f"NOTICE: RANDOM INITIAL WEIGHTS in place of ImageNet's for {model} ({reason})",
        file=sys.stderr,
    )
    nothing = dict.fromkeys(("file", "sha256", "origin"))
    return {"model": model, "initializer": "keras", **nothing}


def _target(folder: Path, model: str, files: dict[str, str]) -> Path:
    recipe = json.dumps({"version": RECIPE, "model": model, "files": files}, sort_keys=True)
    return folder / "weights" / f"{model}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def _complete(target: Path) -> bool:
    try:
        json.loads((target / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return False
    return zipfile.is_zipfile(target / "weights.npz")  # its directory comes last in the file


def _convert(model: str, path: Path, sha256: str, origin: str, target: Path, folder: Path) -> None:
    # Must not take a GPU from a training job, and needs none; without start-up messages.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with store.building(target) as aside:
        np.savez(aside / "weights.npz", **_read(model, path))
        file = (target / "weights.npz").relative_to(folder).as_posix()
        published = {"file": file, "sha256": sha256, "origin": origin}
        write_json(
            {"model": model, "initializer": "imagenet", **published}, aside / "manifest.json"
        )


def _read(model: str, file: Path) -> Weights:
    """Read canonical weights from an HDF5 file, through Keras.

    Raises `UserError` if the file does not belong to this model.
    """
    # Imported here: TensorFlow is needed only when there is something to convert.
    from paragone.models.tensorflow import canonical_entries, keras

    try:
        # With its default arguments, which the published weights belong to.
        loaded = keras.applications.MobileNetV2(weights=str(file))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{file} holds no weights of {model} that Keras can load ({first_line(error)}): correct "
            f"the file and its checksum under data.pretrained.{model} in the config"
        ) from None
    return {name: variable.numpy() for name, variable, _ in canonical_entries(loaded)}
