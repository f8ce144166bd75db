"""Layers of every known kind compute and learn the same in each framework, on weights drawn by one rule."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace as with_fields
from importlib import import_module
from multiprocessing import get_context

import pytest
from made_images import make_images
from msgspec.structs import replace
from parity.layers import MODELS, PAIRS
from workspace import changed, make_spec

from paragone import engines
from paragone.config.engines import reference_of
from paragone.config.run_spec import Spec
from paragone.parity.compare import Observation, compare
from paragone.training.observe import observe

pytestmark = pytest.mark.full

DATASET = with_fields(make_images(train=16, test=8, side=8), name="fashion_mnist")
BACKENDS = {"torch": "torch", "tensorflow": "tensorflow-mirrored", "jax": "jax"}
COMPARED = [
    *(("images", "torch"), ("images", "tensorflow"), ("images", "jax")),
    *(("volumes", "torch"), ("volumes", "tensorflow"), ("volumes", "jax")),
    *(("tokens", "torch"), ("tokens", "tensorflow"), ("tokens", "jax")),
    *(("ending", "torch"), ("ending", "tensorflow"), ("ending", "jax")),
    *(("lstm", "torch"), ("lstm", "tensorflow"), ("lstm", "jax")),
    *(("rnn", "tensorflow"), ("rnn", "jax")),
    *(("lstm-without-bias", "tensorflow"), ("gru", "tensorflow"), ("gru-of-one-bias", "jax")),
]


def spec_of(model: dict, framework: str) -> Spec:
    spec = make_spec(
        "fashion-cnn", BACKENDS[framework], global_batch=8, precision="float64", epochs=2
    )
    keys = {"model": model, "initializer": "pytorch" if model["name"] == "rnn" else "keras"}
    return changed(spec, keys, steps_per_epoch=2)


def observed(framework: str, names: list[str], of_reference: bool = False) -> dict:
    """What a framework computes of some models, in a process of its own."""
    engines.keep_programs()  # as the gate's processes do
    module = import_module(f"paragone.models.{framework}")
    module.MODELS |= MODELS[framework]()
    arrays = {}
    for name in names:
        spec = spec_of({"name": name, "pairs": PAIRS if name == "ending" else {}}, framework)
        spec = replace(spec, backend=reference_of(spec)) if of_reference else spec
        arrays[name] = observe(spec, DATASET)
    return arrays


@pytest.fixture(scope="module")
def observations() -> dict:
    """What each framework and the reference compute of all models."""
    names = {
        framework: [name for name, of in COMPARED if of == framework] for framework in BACKENDS
    }
    spawn = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, max_tasks_per_child=1) as processes:
        jobs = {
            framework: processes.submit(observed, framework, names[framework])
            for framework in reversed(BACKENDS)
        }
        jobs["reference"] = processes.submit(observed, "torch", [*dict(COMPARED)], True)
        return {framework: job.result() for framework, job in jobs.items()}


@pytest.mark.parametrize(("name", "framework"), COMPARED)
def test_a_kind_of_layer_is_the_same_in_each_framework(observations, name, framework):
    arrays, right = observations[framework][name], observations["reference"][name]
    verdict = compare(Observation.of(arrays), Observation.of(right))
    assert verdict.passed, verdict.reason
    initial = {n.partition("/")[2] for n in right if n.startswith("initial/")}
    weights = {n.partition("/")[2] for n in arrays if n.startswith("weights/")}
    assert weights == initial


@pytest.mark.parametrize("framework", BACKENDS)
def test_probabilities_in_evaluation_alone_are_noticed(observations, framework):
    (notice,) = Observation.of(observations[framework]["ending"]).notices
    assert "model ending returns probabilities in evaluation, " in notice
