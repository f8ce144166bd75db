"""A module of one framework is compared with its plain form in double precision, whatever its layers."""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace as with_fields
from importlib import import_module
from multiprocessing import get_context
from typing import Any

import pytest
from made_images import make_images
from msgspec.structs import replace
from workspace import changed, make_spec

from paragone.config.engines import reference_of
from paragone.config.run_spec import Tuned
from paragone.parity.compare import Observation, compare
from paragone.records.measurements import ParityVerdict
from paragone.training.observe import observe

pytestmark = pytest.mark.full

DATASET = with_fields(make_images(train=40, test=16, side=8), name="fashion_mnist")


def of_jax(shape: tuple, classes: int, rngs: Any) -> Any:
    """A frozen stem, group norm, a recurrent layer, free parameters, one unused, dropout of its own rate."""
    nnx, jnp = import_module("flax.nnx"), import_module("jax.numpy")

    class Rows(nnx.Module):
        def __init__(self) -> None:
            self.stem = nnx.Conv(shape[2], 4, (2, 2), rngs=rngs)
            sys.modules["paragone.models.jax"].freeze(self.stem)
            self.norm = nnx.GroupNorm(4, num_groups=2, rngs=rngs)
            self.rows = nnx.RNN(nnx.GRUCell(4 * shape[1], 6, rngs=rngs))
            self.scale, self.unused = nnx.Param(1.0), nnx.Param(jnp.ones(3))
            self.calls, self.drop = nnx.Variable(0), nnx.Dropout(0.2, rngs=rngs)
            self.head = nnx.Linear(6, classes, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            self.calls[...] += 1
            x = self.norm(self.stem(x)).reshape(*x.shape[:2], -1)
            return self.head(self.drop(self.rows(x)[:, -1] * self.scale))

    return Rows()


def of_tensorflow(shape: tuple, classes: int) -> Any:
    """A frozen stem, norms, a recurrent layer, free parameters, one unused, rates of its own; not built."""
    keras = import_module("keras")
    layers = keras.layers

    class Rows(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.stem = layers.Conv2D(4, 2, padding="same", trainable=False)
            self.norms = [layers.GroupNormalization(2), layers.BatchNormalization()]
            self.rows = layers.LSTM(6, recurrent_dropout=0.2)
            self.scale = self.add_weight(shape=(1,), initializer="ones", name="scale")
            self.unused = self.add_weight(shape=(3,), initializer="ones", name="unused")
            self.drop, self.head = layers.Dropout(0.2), layers.Dense(classes)

        def call(self, x: Any) -> Any:
            x = self.norms[1](self.norms[0](self.stem(x)))
            x = keras.ops.reshape(x, (-1, x.shape[1] * x.shape[2] // 4, x.shape[3] * 4))
            return self.head(self.drop(self.rows(x[:, :4]) * self.scale))

    return Rows()


def of_torch(shape: tuple, classes: int) -> Any:
    """A frozen stem, norms, a recurrent layer, free parameters, one unused, rates of its own."""
    torch = import_module("torch")
    nn = torch.nn

    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(shape[2], 4, 2).requires_grad_(False)
            self.norms = nn.Sequential(nn.GroupNorm(2, 4), nn.BatchNorm2d(4))
            self.rows = nn.LSTM(4, 6, num_layers=2, dropout=0.2, batch_first=True)
            self.scale, self.unused = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(3))
            self.drop, self.head = nn.Dropout(0.2), nn.Linear(6, classes)

        def forward(self, x: Any) -> Any:
            x = self.norms(self.stem(x)).flatten(2).transpose(1, 2)
            return self.head(self.drop(self.rows(x)[0][:, -1] * self.scale))

    return Rows()


MODELS = {"jax": of_jax, "tensorflow": of_tensorflow, "torch": of_torch}
BACKENDS = {"jax": "jax", "tensorflow": "tensorflow-mirrored", "torch": "torch-ddp"}


def judged(framework: str) -> tuple[ParityVerdict, list[str]]:
    """The verdict on several steps in a call, and the names of all arrays."""
    import_module(f"paragone.models.{framework}").MODELS["any"] = MODELS[framework]
    spec = make_spec(
        "fashion-cnn", BACKENDS[framework], global_batch=8, precision="float64", epochs=3
    )
    spec = changed(spec, {"model": {"name": "any"}, "initializer": "model"}, steps_per_epoch=3)
    right = observe(replace(spec, backend=reference_of(spec)), DATASET)
    several = {"steps_per_call": 2} if framework == "jax" else {}
    arrays = observe(replace(spec, tuning=Tuned(options=several)), DATASET)
    verdict = compare(Observation.of(arrays), Observation.of(right))
    return verdict, [name for name in arrays if name.startswith("weights/")]


@pytest.mark.parametrize("framework", MODELS)
def test_any_module_passes_and_what_it_does_not_train_is_noticed(framework):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        verdict, names = process.submit(judged, framework).result()
    assert verdict.passed, verdict.reason
    assert "dropout" in verdict.deviations
    assert sum(name.endswith(" (frozen)") for name in names) == 2
    unlearned = [notice.split(",")[0] for notice in verdict.notices if "parameters are" in notice]
    assert unlearned == ["20 parameters are frozen", "3 parameters are of no effect on the outputs"]
