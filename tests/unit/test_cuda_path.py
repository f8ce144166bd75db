"""What the PyTorch engine does on a GPU, as far as it can be seen without one.

The stand-in is the device "meta": it has shapes and no values, so whatever asks it for a value fails, and
every operator that reaches it is seen. Copies are counted where the host would wait for them on CUDA.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from made_images import make_images, make_texts
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from workspace import changed, make_spec

from paragone.base.engine_reports import Metrics
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import evaluation_batches, train_batches
from paragone.engines import torch_devices
from paragone.engines.torch import Torch

STAND_IN = torch.device("meta")
# Functions that copy a number to the device and wait, and operators that read one from it.
FROM_HOST = {"new_tensor", "tensor", "as_tensor", "scalar_tensor"}
READING = {"_local_scalar_dense", "item", "nonzero", "equal", "is_nonzero"}


def there(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.device == STAND_IN


class Operators(TorchDispatchMode):
    """Reads and blocking copies, as operators."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, function, types, args=(), kwargs=None) -> Any:
        name = function.overloadpacket.__name__
        kwargs = kwargs or {}
        if name in READING and any(map(there, args)):
            self.seen.append(name)
        if name in ("_to_copy", "copy_") and not kwargs.get("non_blocking"):
            devices = {arg.device.type for arg in args if isinstance(arg, torch.Tensor)}
            devices |= {torch.device(kwargs["device"]).type} if kwargs.get("device") else set()
            if len(devices) > 1 and not (name == "copy_" and args[2:] == (True,)):
                self.seen.append(name)
        return function(*args, **kwargs)


class Functions(TorchFunctionMode):
    """Copies that PyTorch makes below its operators, as calls from Python."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function, types, args=(), kwargs=None) -> Any:
        name, kwargs = getattr(function, "__name__", ""), kwargs or {}
        to_there = torch.device(kwargs["device"]) == STAND_IN if kwargs.get("device") else False
        if name in FROM_HOST and (to_there or any(map(there, args))):
            self.seen.append(name)
        return function(*args, **kwargs)


@contextmanager
def waits() -> Iterator[list[str]]:
    seen: list[str] = []
    with Functions(seen), Operators(seen):
        yield seen


class Unread(Torch):
    """The engine, whose totals have no values to read: an epoch ends where they would be."""

    read = 0

    def metrics(self, totals: torch.Tensor) -> Metrics:
        self.read += 1
        assert totals.device == STAND_IN
        return Metrics(0.0, 0.0)


@pytest.fixture
def on_stand_in(monkeypatch):
    """A function that builds the engine on the stand-in, as it would be on a GPU."""
    monkeypatch.setattr(torch_devices, "open_device", lambda *_: (STAND_IN, "stand-in"))
    # Autocast and the kernels for several weights at once, CUDA's default, do not know "meta".
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    for name in ("sgd", "adam", "nadam"):
        module = sys.modules[f"torch.optim.{name}"]
        monkeypatch.setattr(module, "_default_to_fused_or_foreach", lambda *_, **__: (False, True))

    def build(spec: Spec, dataset: Dataset, kind: type[Torch] = Unread) -> Torch:
        engine = kind()
        engine.build(spec, dataset, 1)
        return engine

    return build


def spec_of(workload: str, **backend: str) -> Spec:
    spec = make_spec(workload, "torch", global_batch=16, steps_per_epoch=4)
    return changed(spec, backend={"device": "gpu"} | backend)


@pytest.mark.parametrize("feed", ["batches", "resident"])
@pytest.mark.parametrize(
    ("workload", "data"),
    [("fashion-cnn", make_images), ("fashion-conv", make_images), ("reuters-cnn", make_texts)],
)
def test_the_host_waits_for_the_device_at_the_end_of_an_epoch_alone(
    on_stand_in, workload, data, feed
):
    dataset, spec = data(), spec_of(workload, feed=feed)
    engine = on_stand_in(spec, dataset)
    batches = list(train_batches(dataset, spec, 1))
    tested = list(evaluation_batches(dataset, spec))
    engine.restore(engine.snapshot())  # as after a warm-up
    with waits() as seen:
        engine.train_epoch(0, [0.01] * len(batches), batches, len(batches))
        engine.evaluate(tested, len(tested))
    assert seen == []
    assert engine.read == 2  # once an epoch


def test_what_waits_would_be_seen(on_stand_in):
    """Each of the ways in which an engine may wait, the one that an engine once had among them."""

    class Late(Unread):
        def train_step(self, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
            logits, loss = super().train_step(inputs, labels)
            logits.new_tensor(len(labels))
            torch.ones(3).to(logits.device)
            return logits, loss

    dataset, spec = make_images(), spec_of("fashion-cnn")
    engine = on_stand_in(spec, dataset, Late)
    with waits() as seen:
        engine.train_epoch(0, [0.01] * 4, list(train_batches(dataset, spec, 1)), 4)
    assert seen == ["new_tensor", "_to_copy"] * 4
    with pytest.raises(RuntimeError, match="no data"):
        Torch.metrics(engine, torch.zeros(3, device=STAND_IN))  # reads


def test_products_are_deterministic_from_the_first_on():
    """cuBLAS reads it when a process first uses it; set by hand, it stays."""
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
