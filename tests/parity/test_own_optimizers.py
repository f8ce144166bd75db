"""A framework's own optimizer and schedule: its backends are compared with each other."""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace as with_fields
from multiprocessing import get_context
from typing import Any

import pytest
from made_images import make_images
from msgspec.structs import replace
from parity.protocols import RATES
from workspace import changed, make_spec, run_python

from paragone.base.errors import UserError
from paragone.config.engines import reference_of
from paragone.config.optimizer_keys import DEFAULTS
from paragone.models.weights import Weights
from paragone.parity.compare import Observation, compare
from paragone.training.observe import observe

pytestmark = pytest.mark.full

DATASET = with_fields(make_images(train=40, test=16, side=8), name="fashion_mnist")
RATE = {"base": 0.05, "unit": "step", **RATES[0]}  # halved after every second step
ADAM = {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-3}
# By backend: an own optimizer, and the project's rule that it is.
SAME = {
    "torch": ({"name": "torch.optim.Adam", "eps": 1e-3}, ADAM | {"rule": "pytorch"}),
    "tensorflow-mirrored": ({"name": "keras.optimizers.Adam", "epsilon": 1e-3}, ADAM),
    "jax": ({"name": "optax.adam", "eps": 1e-3}, ADAM | {"rule": "pytorch"}),
}
# Optimizers that the project has not: of state that is made in the first step, or with the rate in it.
OWN = {
    "torch": [{"name": "torch.optim.Adadelta", "rho": 0.8}, {"name": "torch.optim.Rprop"}],
    "torch-fsdp": [{"name": "torch.optim.Adadelta", "rho": 0.8}],
    "torch-xla": [
        {"name": "torch.optim.NAdam", "betas": [0.8, 0.9]},
        {"name": "torch.optim.Adadelta"},
    ],
    "tensorflow-mirrored": [
        {"name": "keras.optimizers.SGD", "momentum": 0.9},
        {"name": "keras.optimizers.Adafactor", "clip_threshold": 2.0},
    ],
    "jax": [{"name": "optax.lars", "momentum": 0.8}, {"name": "optax.contrib.prodigy"}],
}


def of_torch(name: str, **arguments: Any) -> dict[str, Any]:
    schedule = {"name": f"torch.optim.lr_scheduler.{name}", **arguments}
    return {"learning_rate": {"base": 0.25, "schedule": schedule}}


# What a person may write that no framework has.
WRONG = {
    "torch": [
        (
            {"name": "torch.optim.Adadelt"},
            ".optimizer.name: there is no optimizer torch.optim.Adad",
        ),
        (
            {"name": "torch.optim.Adadelta", "lr": 1.0},
            ".optimizer.lr: torch.optim.Adadelta takes rho",
        ),
        (
            {"name": "torch.optim.LBFGS"},
            ".optimizer.name: torch.optim.LBFGS computes the loss several times",
        ),
        (
            {"name": "torch.optim.Adadelta", "rho": 2.0},
            "torch.optim.Adadelta: Invalid rho value: 2",
        ),
        (
            of_torch("StepLR", step=2),
            ".schedule.step: torch.optim.lr_scheduler.StepLR takes step_s",
        ),
        (
            of_torch("StepLRs"),
            ".schedule.name: there is no schedule torch.optim.lr_scheduler.StepLRs",
        ),
        (of_torch("OneCycleLR", max_lr=1.0, total_steps=99), "it may change nothing but the rate"),
        (of_torch("ReduceLROnPlateau"), "ReduceLROnPlateau: ReduceLROnPlateau.step() missing 1"),
    ],
    "tensorflow-mirrored": [
        (
            {"name": "keras.optimizers.Lion", "eps": 1e-3},
            ".optimizer.eps: keras.optimizers.Lion ta",
        ),
        ({"name": "keras.optimizers.schedules"}, "there is no optimizer keras.optimizers.sche"),
    ],
    "jax": [
        ({"name": "optax.scale_by_adam"}, "there is no optimizer optax.scale_by_adam"),
        ({"name": "optax.lamb", "beta_1": 0.9}, ".optimizer.beta_1: optax.lamb takes b1"),
    ],
}


def observed(backend: str, optimizers: list[dict[str, Any]], plain: bool = False) -> list[Any]:
    """What the gate sees of each, or the error; `plain`: of the reference.

    `optimizers`: or other keys of the workload.
    """

    def one(block: dict[str, Any]) -> Weights | str:
        spec = make_spec("fashion-cnn", backend, global_batch=8, precision="float64", epochs=3)
        workload = {"model": {"name": "mlp", "hidden": [8]}, "learning_rate": RATE}
        keys = {"optimizer": block} if "name" in block else block
        spec = changed(spec, workload | keys, steps_per_epoch=3)
        try:
            return observe(replace(spec, backend=reference_of(spec)) if plain else spec, DATASET)
        except UserError as error:
            return str(error)

    return [one(optimizer) for optimizer in optimizers]


@pytest.fixture
def apart() -> Iterator[Any]:
    """Calls `observed` in a process of its own, as devices are set once."""

    def call(*arguments: Any) -> list[Any]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            return process.submit(observed, *arguments).result()

    return call


def judged(arrays: Weights, expected: Weights) -> Any:
    return compare(Observation.of(arrays), Observation.of(expected))


@pytest.mark.parametrize("backend", SAME)
def test_an_own_optimizer_takes_the_steps_of_the_rule_that_it_is(apart, backend):
    """At the rates of the loop; another constant shows."""
    own, rule = SAME[backend]
    (arrays,) = apart(backend, [own])
    right, wrong = apart(backend, [rule, rule | {"beta_1": 0.89}], True)
    verdict = judged(arrays, right)
    assert verdict.passed, verdict.reason
    assert any(f"defines the update: {own['name']}(" in notice for notice in verdict.notices)
    assert "updates deviate by" in judged(arrays, wrong).reason


# By backend: an own schedule, and the project's that it is. Keras' numbers are of single precision.
HALVED = {"name": "steplr", "step_size": 2, "gamma": 0.5}
SCHEDULES = {
    "torch": (
        {"base": 0.25, "schedule": HALVED | {"name": "torch.optim.lr_scheduler.StepLR"}},
        HALVED,
    ),
    "tensorflow-mirrored": (
        {
            "unit": "step",
            "schedule": {
                "name": "keras.optimizers.schedules.PiecewiseConstantDecay",
                "boundaries": [1, 3],
                "values": [0.25, 0.125, 0.0625],
            },
        },
        {"name": "multisteplr", "milestones": [2, 4], "gamma": 0.5},
    ),
    "jax": (
        {
            "unit": "step",
            "schedule": {
                "name": "optax.exponential_decay",
                "init_value": 0.25,
                "transition_steps": 2,
                "decay_rate": 0.5,
                "staircase": True,
            },
        },
        HALVED,
    ),
}

SCHEDULES |= dict.fromkeys(["torch-xla", "torch-fsdp"], SCHEDULES["torch"])
SCHEDULES |= dict.fromkeys(["tensorflow-multiworker"], SCHEDULES["tensorflow-mirrored"])


@pytest.mark.parametrize("backend", SCHEDULES)
def test_an_own_schedule_has_the_rates_of_the_shape_that_it_is(apart, backend):
    """In each step, and after a resume; a rate that falls a step later shows."""
    own, shape = SCHEDULES[backend]
    project = {"base": 0.25, "unit": own.get("unit", "epoch"), "schedule": shape}
    late = {key: [n + 1 for n in v] if key == "milestones" else v for key, v in shape.items()}
    late |= {"step_size": 3} if "step_size" in shape else {}
    blocks = [{"learning_rate": rate} for rate in (own, project, project | {"schedule": late})]
    arrays, plain = apart(backend, blocks[:1])[0], apart(backend, blocks[:1], True)[0]
    right, wrong = apart("torch", blocks[1:], True)  # by definition
    for expected in (right, plain):
        verdict = judged(arrays, expected)
        assert verdict.passed, verdict.reason
    name = own["schedule"]["name"]
    assert any(f"defines the rates: {name}(" in notice for notice in verdict.notices)
    assert "updates deviate by" in judged(arrays, wrong).reason


@pytest.mark.parametrize("backend", OWN)
def test_each_backend_is_compared_with_the_plain_form_of_its_framework(apart, backend):
    """Also after a resume, whose state may not have been made yet."""
    seen = apart(backend, OWN[backend])
    for arrays, expected in zip(seen, apart(backend, OWN[backend], True), strict=True):
        verdict = judged(arrays, expected)
        assert verdict.passed, verdict.reason


@pytest.mark.parametrize("backend", WRONG)
def test_what_a_framework_lacks_is_one_sentence(apart, backend):
    optimizers, words = zip(*WRONG[backend], strict=True)
    for said, expected in zip(apart(backend, list(optimizers)), words, strict=True):
        assert said.startswith("workloads.fashion-cnn.")
        assert expected in said


KERAS = """
import json
from tensorflow import keras
from tensorflow.python.keras.optimizer_v2 import adam, gradient_descent, nadam, rmsprop

old = {"sgd": gradient_descent.SGD, "adam": adam.Adam, "nadam": nadam.Nadam, "rmsprop": rmsprop.RMSprop}
names = ["sgd", "adam", "adamw", "nadam", "rmsprop", "adagrad"]
made = {"keras-2": {name: kind() for name, kind in old.items()}}
made["keras-3"] = {name: keras.optimizers.get(name) for name in names}
kept = {source: {n: o.get_config() for n, o in of.items()} for source, of in made.items()}
print(json.dumps(kept, default=float))
"""


def test_the_defaults_of_keras_are_those_of_its_optimizers():
    """TensorFlow still contains the classes of Keras 2, with one of the two rates that its Nadam had."""
    theirs = json.loads(run_python(KERAS).splitlines()[-1])
    for source, by_name in theirs.items():
        assert {*by_name} == {*DEFAULTS[source]}
        for name, config in by_name.items():
            config |= {"base": config["learning_rate"]}
            config |= {"initial": config.get("initial_accumulator_value")}
            ours = {key: value for key, value in DEFAULTS[source][name].items() if key != "rule"}
            assert ours == pytest.approx({key: config[key] for key in ours})


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("torch-ddp", "torch.optim.Adadelta"),
        ("torch-fsdp", "torch.optim.RAdam"),
        ("tensorflow-mirrored", "keras.optimizers.Adamax"),
        ("jax", "optax.lamb"),
    ],
)
def test_two_replicas_take_the_first_steps_of_the_plain_form(short_runs, backend, name):
    record = short_runs.record(backend, 2, "float64", optimizer={"name": name})
    assert record.first_steps.passed, record.first_steps.reason
    assert record.model.update.startswith(f"{name}(")


@pytest.mark.parametrize(
    ("backend", "rate"),
    [
        ("torch-ddp", of_torch("CosineAnnealingLR", T_max=2)["learning_rate"] | {"unit": "step"}),
        (
            "jax",
            {
                "unit": "step",
                "schedule": {
                    "name": "optax.linear_schedule",
                    "init_value": 0.1,
                    "end_value": 0.0,
                    "transition_steps": 2,
                },
            },
        ),
    ],
)
def test_two_replicas_follow_an_own_schedule(short_runs, backend, rate):
    record = short_runs.record(backend, 2, "float64", learning_rate=rate)
    assert record.first_steps.passed, record.first_steps.reason
    assert record.model.rates.startswith(f"{rate['schedule']['name']}(")
    assert record.epochs[0].learning_rate == pytest.approx(rate.get("base", 0.1))
