"""Published initial weights: found like data, converted once, the same numbers in every framework."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from data_programs import CONFIG_DATA
from workspace import UNREACHABLE, call, command, make_spec, refused, run_python

from paragone.base.errors import UserError
from paragone.models.torch import MODELS, canonical_entries, export, load_weights
from paragone.models.weights import draw, read, starting

pytestmark = pytest.mark.full

MODEL = "mobilenet-v2"
((FILE, LISTED),) = CONFIG_DATA["pretrained"][MODEL].items()
SPEC = make_spec(MODEL, "torch")
# Batch norm and bias are drawn too, or a mix-up of constants would go unseen. The layout is that of the
# published file, its image size is not.
PUBLISH = """
import sys
import h5py
import keras
import numpy as np
from keras.src.legacy.saving import legacy_h5_format

random = np.random.default_rng(5)
images = random.uniform(0, 1, (8, 3, 3, 3)).repeat(32, 1).repeat(32, 2).astype(np.float32)
options = {"classes": 1000, "classifier_activation": None}
model = keras.applications.MobileNetV2((96, 96, 3), weights=None, **options)
for weight in model.weights:
    if weight.name in ("gamma", "beta", "bias"):
        weight.assign(random.uniform(0.5, 1.5, weight.shape) - (weight.name != "gamma"))
for layer in model.layers:
    layer.momentum = 0  # the statistics become those of the images: no layer is deaf to them
model(images, training=True)
with h5py.File(sys.argv[1], "w") as file:
    legacy_h5_format.save_weights_to_hdf5_group(file, model)
loaded = keras.applications.MobileNetV2((96, 96, 3), weights=sys.argv[1], **options)
np.savez(sys.argv[2], images=images, logits=loaded(images, training=False).numpy())
"""


def provide(to: Path, mirrors: str | Path = "", **settings: object) -> subprocess.CompletedProcess:
    """Run scripts/fetch.py, which reaches no official address."""
    data = CONFIG_DATA | {"folder": str(to / "data")} | settings
    line = command("fetch", model=MODEL, data=data, source=to / "weights.json")
    variables = {"HTTPS_PROXY": UNREACHABLE, "NO_PROXY": "", "no_proxy": ""}
    return call(line, PARAGONE_MIRRORS=str(mirrors), **variables)


def described(to: Path) -> dict:
    return json.loads((to / "weights.json").read_text())


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A mirror with a file as Keras publishes it, of weights made up; and what Keras computes."""
    folder = tmp_path_factory.mktemp("published")
    file = folder / MODEL / FILE
    file.parent.mkdir()
    run_python(PUBLISH, file, folder / "keras.npz")
    return folder


@pytest.fixture(scope="module")
def listed(published) -> dict:
    """The settings that name the made-up file's checksum."""
    digest = hashlib.sha256((published / MODEL / FILE).read_bytes()).hexdigest()
    return {"pretrained": {MODEL: {FILE: digest}}}


@pytest.fixture(scope="module")
def converted(published, listed, tmp_path_factory) -> Path:
    """A folder with weights.json and data/ of the made-up file; not to be written to."""
    to = tmp_path_factory.mktemp("converted")
    done = provide(to, published, source="real", **listed)
    assert done.returncode == 0, done.stderr
    return to


def test_without_the_file_random_weights_are_drawn(tmp_path, published, listed):
    done = provide(tmp_path)
    assert done.returncode == 0, done.stderr
    (notice,) = (line for line in done.stderr.splitlines() if "RANDOM INITIAL WEIGHTS" in line)
    assert notice.startswith(f"NOTICE: RANDOM INITIAL WEIGHTS in place of ImageNet's for {MODEL}")
    assert "storage.googleapis.com" in notice
    nothing = dict.fromkeys(("file", "sha256", "origin"))
    assert described(tmp_path) == {"model": MODEL, "initializer": "keras", **nothing}
    shapes = {"0.conv2d.kernel": (3, 3, 3, 8), "1.dense.bias": (8,)}
    fresh = {name: np.ones(shape) for name, shape in shapes.items()}
    weights, used = starting(fresh, SPEC, read(tmp_path / "weights.json", tmp_path))
    assert used == "keras"
    expected = draw(shapes, "keras", SPEC.seed)
    assert all((weights[name] == values).all() for name, values in expected.items())
    # Synthetic data do not look for the file.
    done = provide(tmp_path, published, source="synthetic", **listed)
    assert done.returncode == 0, done.stderr
    assert described(tmp_path)["initializer"] == "keras"


def test_no_file_of_the_listed_content_never_falls_back(tmp_path, published):
    """No file at all, none that is listed, another content, and right content of no model."""
    words = f"no ImageNet weights of {MODEL}", "storage.googleapis.com", "data.source"
    refused(provide(tmp_path, source="real"), *words)
    done = provide(tmp_path, published, source="real", pretrained={})
    refused(done, "data.pretrained.mobilenet-v2 lists no file")
    done = provide(tmp_path, published, source="auto")
    refused(done, FILE, LISTED, "wrong checksum", str(published))
    file = tmp_path / "mirror" / MODEL / FILE
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no HDF5")
    digest = hashlib.sha256(b"no HDF5").hexdigest()
    done = provide(tmp_path, file.parents[1], pretrained={MODEL: {FILE: digest}})
    refused(done, str(file), f"no weights of {MODEL}", "data.pretrained")
    assert not [*tmp_path.rglob("*.npz"), *tmp_path.glob("weights.json")]


def test_torch_computes_what_keras_computes(converted, published, listed):
    description = described(converted)
    assert description["initializer"] == "imagenet"
    assert description["sha256"] == listed["pretrained"][MODEL][FILE]
    assert description["origin"] == "mirror folder"
    pretrained = read(converted / "weights.json", converted / "data")
    model = MODELS[MODEL]((96, 96, 3), 2, outputs=1000)
    fresh = export(canonical_entries(model))
    weights, used = starting(fresh, SPEC, pretrained)
    assert used == "imagenet"
    load_weights(canonical_entries(model), weights)
    expected = np.load(published / "keras.npz")
    model.eval()
    with torch.no_grad():
        images = torch.from_numpy(expected["images"]).permute(0, 3, 1, 2)
        logits = model(images).numpy()
    # It sees its images, or it would prove little.
    assert expected["logits"].std(axis=0).mean() > 0.1
    np.testing.assert_allclose(logits, expected["logits"], atol=1e-3)
    last = list(fresh)[-1]
    with pytest.raises(UserError, match=rf"mobilenet-v2.initializer.*{last} is \(1000,\)"):
        starting({**fresh, last: np.zeros(2)}, SPEC, pretrained)


def test_damaged_weights_name_what_to_delete(tmp_path, converted):
    path = shutil.copytree(converted / "data", tmp_path / "data") / described(converted)["file"]
    content = path.read_bytes()
    path.write_bytes(content[:5000] + b"damaged" + content[5007:])
    with pytest.raises(UserError, match=r"damaged.*delete the folder"):
        read(converted / "weights.json", tmp_path / "data")
