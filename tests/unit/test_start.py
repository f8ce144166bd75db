"""Initial weights of a file: what is read, noticed and refused, and what of a file decides a run."""

import os
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_images import make_images
from msgspec.structs import replace
from safetensors.torch import save_file
from torch import nn
from workspace import WITH_EXAMPLES, make_spec, refusing

from paragone import engines
from paragone.base.atomic_files import sha256
from paragone.config.expand import spec_of
from paragone.config.run_spec import MODEL, Spec, Start
from paragone.config.schema import MatrixRow
from paragone.data.batches import train_batches
from paragone.engines import torch as eager
from paragone.models.start import checked, placed

DATASET = make_images()


def model(*_: object) -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(1, 4, 7, 7), nn.BatchNorm2d(4)).requires_grad_(False)
    module = nn.Sequential(stem, nn.Flatten(), nn.Linear(64, 10))
    module.register_buffer("order", torch.randperm(64))
    return module


def begun(file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple:
    """An engine whose model has begun from the file, its specification, and the notices."""
    monkeypatch.setitem(eager.models.MODELS, "fashion-cnn", model)
    spec, start = make_spec("fashion-cnn", "torch", global_batch=16), Start(str(file), sha256(file))
    spec = replace(spec, workload=replace(spec.workload, initializer=MODEL, start=start))
    (engine := eager.Torch()).build(spec, DATASET, 1)
    return engine, spec, engines.begin(engine, spec, None)[2]


STATE = model().state_dict()
PREFIXED = {f"module._orig_mod.{name}": values for name, values in STATE.items()}
HALF = {"0.0.weight": STATE["0.0.weight"].bfloat16(), "far": torch.ones(1)}
READ = {  # with the first words of each notice
    "a.pt": (STATE, []),
    "a.safetensors": (STATE, []),
    "a.pth": (
        {"best": np.float64(3), "args": Namespace(lr=1), "model_state_dict": STATE},
        ["the arrays in"],
    ),
    "a.ckpt": ({"state_dict": PREFIXED}, ["the arrays in", "'module.' at", "'_orig_mod.' at"]),
    "some.pt": (HALF, ["7 of the model's 8 arrays", "1 of its 2 arrays"]),
}


@pytest.mark.parametrize("name", READ)
def test_arrays_of_a_file_are_the_initial_ones_and_frozen_ones_stay(name, tmp_path, monkeypatch):
    content, notices = READ[name]
    (save_file if name.endswith("tensors") else torch.save)(content, tmp_path / name)
    engine, spec, noticed = begun(tmp_path / name, monkeypatch)
    for notice, words in zip(noticed, notices, strict=True):
        assert notice.startswith(f"{tmp_path / name}: {words}")
    assert engine.model.order.equal(STATE["order"]) == (name != "some.pt")
    engine.train_epoch(0, [0.1] * 4, train_batches(DATASET, spec, 1), 4)
    stem = content.get("0.0.weight", STATE["0.0.weight"]).float().numpy()
    assert engine.weights()["0.0.weight (frozen)"].tobytes() == stem.tobytes()


REFUSED = {
    "none of the model's": {"conv.weight": torch.ones(1)},
    "has shape (12, 64)": {"2.weight": torch.ones(12, 64)},
    "of int8": {"2.weight": torch.ones(10, 64, dtype=torch.int8)},
    "save the state dict alone": model(),
    "are none": torch.ones(3),
    "is damaged": b"PK" * 99,
    "is a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(words, tmp_path, monkeypatch):
    if isinstance(content := REFUSED[words], bytes):
        (tmp_path / "a.pt").write_bytes(content)
    else:
        torch.save(content, tmp_path / "a.pt")
    with refusing(f"{tmp_path}/a.pt: ", words):
        begun(tmp_path / "a.pt", monkeypatch)


def test_files_of_keras_and_flax_are_read_by_the_names_of_their_models(tmp_path):
    jax, keras = (pytest.importorskip(f"paragone.models.{n}") for n in ("jax", "tensorflow"))
    first, second = (keras.MODELS["mlp"]((4, 4, 1), 3, [5]) for _ in range(2))
    first.save_weights(tmp_path / "a.weights.h5")
    own = {name: variable.numpy() for name, variable, _ in keras.native_entries(second)}
    arrays, _ = keras.read_start(tmp_path / "a.weights.h5", second)
    read, notices = placed(own, arrays, tmp_path)
    assert [values.tolist() for values in read.values()] == [
        v.tolist() for v in first.get_weights()
    ]
    assert not notices
    content = {"params": {"layers": {"1": {"bias": own[min(own)]}}}}
    (tmp_path / "a.msgpack").write_bytes(jax.serialization.msgpack_serialize(content))
    arrays, _ = jax.read_start(tmp_path / "a.msgpack", jax.MODELS["mlp"]((4, 4, 1), 3, [5]))
    assert [*arrays] == ["layers.1.bias"]


def test_the_content_of_a_file_decides_a_run_and_its_time_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, workload = Path("a.pt"), WITH_EXAMPLES.workloads["fashion-cnn"]
    file.write_bytes(b"one")

    def spec(backend: str = "torch", **start: str) -> Spec:
        block = replace(workload, initializer=MODEL, start=Start(**{"file": "a.pt", **start}))
        config = replace(WITH_EXAMPLES, workloads={"w": block})
        return spec_of(config, "w", MatrixRow(backend=backend, replicas=1), "here")

    first = spec()
    os.utime(file, (1, 1))
    assert spec() == first == spec(sha256=sha256(file))
    file.write_bytes(b"two")
    assert spec().sha256 != first.sha256
    with refusing("a.pt: its content has changed"):
        checked(first.workload.start)
    for other in ({"file": "b.pt"}, {"backend": "jax"}):
        with refusing("workloads.w.start."):
            spec(**other)
