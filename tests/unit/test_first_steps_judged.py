"""A run's first steps beside those of the reference, on made-up images."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from made_images import make_images
from msgspec.structs import replace
from workspace import make_spec

from paragone.config.engines import first_steps as of_run
from paragone.config.run_spec import Spec
from paragone.engines.torch import Torch
from paragone.models.weights import starting
from paragone.parity import first_steps
from paragone.records.run_record import FirstSteps
from paragone.training import observe

DATASET = make_images()
SPEC = make_spec("fashion-cnn", "torch", global_batch=16)


def taken(spec: Spec, change=lambda batch: batch) -> dict:
    """By the eager engine, on changed batches."""
    engine = Torch()
    engine.build(spec, DATASET, 1)
    engine.set_weights(starting(engine.weights(), spec, None)[0])
    with pytest.MonkeyPatch.context() as patch:
        right = first_steps.train_batches
        patch.setattr(first_steps, "train_batches", lambda *what: map(change, right(*what)))
        return first_steps.take(engine, spec, DATASET, 2)


@pytest.fixture(scope="module")
def verdict_on(tmp_path_factory) -> Callable[..., FirstSteps]:
    """A function that compares steps with those of the reference."""
    path = tmp_path_factory.mktemp("steps") / "expected.npz"
    observe.write(first_steps.reference(of_run(SPEC), DATASET, None), path)
    return lambda steps: first_steps.compared(path, lambda _: steps, "float32")


def test_one_wrong_example_of_a_batch_is_refused_and_a_small_part_of_it_is_not(verdict_on):
    def one_twice(batch: tuple) -> tuple:
        order = [*range(1, len(batch[1])), 1]
        return tuple(np.array(values)[order] for values in batch)

    wrong, right = taken(SPEC, change=one_twice), taken(SPEC)
    assert "updates deviate by" in verdict_on(wrong).reason
    part = {name: values + 0.1 * (wrong[name] - values) for name, values in right.items()}
    assert verdict_on(right).reason is verdict_on(part).reason is None
    still = {name: values * (not name.startswith("updates")) for name, values in right.items()}
    assert verdict_on(still).reason.startswith("updates deviate by 1.0e+00")


@pytest.mark.parametrize("flipped", [1, -2])
def test_one_example_that_is_decided_otherwise_is_no_difference_and_two_are(verdict_on, flipped):
    """Accuracies come in steps of one example of 32: a tie may fall either way."""
    steps = taken(SPEC)
    verdict = verdict_on(steps | {"training": steps["training"] + [[0.0, flipped / 32]]})
    assert verdict.passed is (abs(flipped) == 1)
    assert verdict.passed or verdict.reason.startswith("training deviate by")


def test_where_its_precision_loses_the_reference_nothing_is_judged(monkeypatch):
    monkeypatch.setattr(first_steps, "JUDGED", 0.02)  # below what bfloat16 costs this model
    lost = first_steps.reference(of_run(replace(SPEC, precision="bfloat16")), DATASET, None)
    assert list(lost) == ["failed"]
    assert re.fullmatch(
        r"in bfloat16 it deviates from itself in double precision, updates by 0\.\d\d.* of at most 0\.02",
        str(lost["failed"]),
    )


def test_without_a_reference_no_step_is_taken(tmp_path):
    observe.write({"failed": np.array("MemoryError: full")}, tmp_path / "failed.npz")
    verdict = first_steps.compared(tmp_path / "failed.npz", pytest.fail, "float32")
    assert verdict == FirstSteps("no reference: MemoryError: full", {}, {})


@pytest.mark.parametrize(
    ("backend", "replicas", "strategy", "parts"),
    [
        ("torch", 1, "whole", 1),
        ("tensorflow-mirrored", 2, "mean", 2),
        ("torch-ddp", 2, "first", 2),
        ("torch-xla", 2, "whole", 1),
    ],
)
def test_what_a_run_is_compared_with(backend, replicas, strategy, parts):
    """The same for all runs that must agree: whatever normalizes alike, and whatever comes after."""
    run = make_spec("fashion-cnn", backend, replicas, epochs=5, steps_per_epoch=9)
    steps = of_run(run)
    assert (steps.backend.strategy, steps.replicas, steps.workers) == (strategy, parts, 1)
    assert (steps.precision, steps.steps_per_epoch) == ("float32", 2)
    assert steps == of_run(replace(run, epochs=7, precision="float64", steps_per_epoch=None))
    assert steps != of_run(replace(run, precision="bfloat16"))
