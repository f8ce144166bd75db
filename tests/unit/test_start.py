"""Initial weights of a file: what is read, what is noticed and refused, and what of a file decides a run."""

import os
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import torch
from made_images import make_images
from msgspec.structs import replace
from safetensors.torch import save_file
from torch import nn
from workspace import CONFIG, WITH_EXAMPLES, make_spec, refusing

from paragone import engines
from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError
from paragone.config.expand import spec_of
from paragone.config.run_spec import MODEL, Spec, Start
from paragone.config.schema import MatrixRow
from paragone.config.validate import validate
from paragone.data.batches import train_batches
from paragone.engines import torch as eager
from paragone.engines.torch import Torch
from paragone.models.start import checked

DATASET = make_images()


def model(shape: tuple = (28, 28, 1), classes: int = 10) -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(1, 4, 7, 7, bias=False), nn.BatchNorm2d(4)).requires_grad_(False)
    module = nn.Sequential(stem, nn.Flatten(), nn.Linear(64, classes))
    module.register_buffer("order", torch.randperm(64))
    return module


def state(seed: int = 5) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    return model().state_dict()


def begun(file: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """An engine whose model has begun from the file, the initial weights, and the notices."""
    monkeypatch.setitem(eager.MODELS, "fashion-cnn", model)
    spec = make_spec("fashion-cnn", "torch", global_batch=16)
    start = Start(str(file), sha256(file))
    spec = replace(spec, workload=replace(spec.workload, initializer=MODEL, start=start))
    engine = Torch()
    engine.build(spec, DATASET, 1)
    weights, _, notices = engines.begin(engine, spec, None)
    return SimpleNamespace(engine=engine, spec=spec, weights=weights, notices=notices)


WHOLE = {
    "a.pt": state(),
    "a.safetensors": state(),
    "wrapped.pth": {"epoch": 3, "optimizer": {}, "model_state_dict": state()},
    "parallel.ckpt": {"state_dict": {f"module._orig_mod.{n}": v for n, v in state().items()}},
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_arrays_of_a_file_are_the_initial_ones_and_frozen_ones_stay(
    name, tmp_path, monkeypatch
):
    (save_file if name.endswith("s") else torch.save)(WHOLE[name], tmp_path / name)
    run, given = begun(tmp_path / name, monkeypatch), state()
    assert len(run.notices) == (3 if "parallel" in name else "wrapped" in name)
    assert run.engine.model.order.equal(given["order"])
    run.engine.train_epoch(0, [0.1] * 4, train_batches(DATASET, run.spec, 1), 4)
    trained = {n.partition(" ")[0]: v for n, v in run.engine.weights().items()}
    for array in ("0.0.weight", "0.1.weight"):
        assert trained[array].tobytes() == given[array].numpy().tobytes()
    assert (trained["2.weight"] != given["2.weight"].numpy()).any()


def test_what_a_file_lacks_is_the_models_own_and_both_kinds_are_counted(tmp_path, monkeypatch):
    """Half precision, too: the values become float32."""
    torch.save(
        {"0.0.weight": state()["0.0.weight"].bfloat16(), "far": torch.ones(1)}, tmp_path / "a.pt"
    )
    run = begun(tmp_path / "a.pt", monkeypatch)
    assert (
        run.weights["0.0.weight (frozen)"] == state()["0.0.weight"].bfloat16().float().numpy()
    ).all()
    assert [notice.partition(": ")[2].split(" ")[:4] for notice in run.notices] == [
        ["6", "of", "the", "model's"],
        ["1", "of", "its", "2"],
    ]
    assert "0.1.bias" in run.notices[0]
    assert "far" in run.notices[1]


REFUSED = {
    "no name": ({"conv.weight": torch.ones(1)}, "none of the model's arrays"),
    "a shape": ({"2.weight": torch.ones(12, 64)}, r"\(12, 64\).*\(10, 64\)"),
    "whole numbers": ({"2.weight": torch.ones(10, 64, dtype=torch.int8)}, "int8"),
    "a module": (model(), "holds a torch.nn.*save the state dict alone"),
    "a tensor": (torch.ones(3), "a Tensor without any"),
    "something": (None, "is damaged"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(fault, tmp_path, monkeypatch):
    content, words = REFUSED[fault]
    torch.save(content, tmp_path / "a.pt")
    if content is None:
        (tmp_path / "a.pt").write_bytes(b"PK" * 99)
    with pytest.raises(UserError, match=words):
        begun(tmp_path / "a.pt", monkeypatch)


def test_the_content_of_a_file_decides_a_run_and_its_time_does_not(tmp_path, monkeypatch):
    """Also of a config: a file that is not there, of another digest or framework, another initializer."""
    monkeypatch.chdir(tmp_path)
    file = Path("a.pt")
    file.write_bytes(b"one")
    workload = WITH_EXAMPLES.workloads["fashion-cnn"]

    def spec(backend: str = "torch", **start: str) -> Spec:
        block = replace(workload, initializer=MODEL, start=Start(**{"file": "a.pt", **start}))
        config = replace(WITH_EXAMPLES, workloads={"w": block})
        return spec_of(config, "w", MatrixRow(backend=backend, replicas=1), "here")

    first = spec()
    os.utime(file, (1, 1))
    assert spec() == first == spec(sha256=sha256(file))
    file.write_bytes(b"two")
    assert spec().sha256 != first.sha256
    with pytest.raises(UserError, match="has changed"):
        checked(first.workload.start)
    for refused in ({"file": "b.pt"}, {"sha256": "0" * 64}, {"backend": "jax"}):
        with pytest.raises(UserError, match=r"workloads\.w\.start\.(file|sha256): .*; |, which"):
            spec(**refused)
    block = msgspec.to_builtins(workload) | {"initializer": "keras", "start": {"file": "a.pt"}}
    with refusing("workloads.w.start: is of `initializer: model`"):
        validate(CONFIG | {"workloads": CONFIG["workloads"] | {"w": block}})
