"""Timed windows hold all of their work and nothing waits inside them; a warm-up leaves no trace."""

import json
import os
import sys
from pathlib import Path

import pytest
from workspace import ROOT, call

pytestmark = [pytest.mark.alone, pytest.mark.full]

BACKENDS = ["torch", "tensorflow-mirrored", "torch-xla"]


@pytest.fixture(scope="module", params=BACKENDS)
def facts(request, small) -> dict:
    """What observe_windows.py saw of one backend."""
    return observed("observe_windows.py", request.param, small.manifest, small.folder)


def observed(name: str, *arguments: object) -> dict:
    """What a program of this folder printed."""
    program = Path(__file__).with_name(name)
    line = [sys.executable, str(program), *map(str, arguments)]
    paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
    done = call(line, timeout=300, PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("workload", ["fashion-cnn", "fashion-conv"])
def test_warm_up_restores_weights_statistics_and_optimiser(facts, workload):
    """Every array to the last bit, after training has filled the optimiser's state."""
    before, after = facts[workload]["before"], facts[workload]["after"]
    assert after == before
    assert any("optimizer" in name for name in before)
    if workload == "fashion-cnn":
        words = ("running_mean", "moving_mean", "_operations", "layers")
        assert any(word in name for name in before for word in words)


@pytest.mark.parametrize("workload", ["fashion-cnn", "fashion-conv"])
def test_the_first_step_is_the_program_of_all_steps(facts, workload):
    """PyTorch/XLA: a copy of the state, a training step, a test step, the copy back. Others: less."""
    assert facts[workload]["programs"] <= 4


@pytest.mark.parametrize("workload", ["fashion-cnn", "fashion-conv"])
def test_nothing_is_compiled_after_the_warm_up(facts, workload):
    assert facts[workload]["compiled"] == 0


def test_the_host_waits_as_often_in_a_long_epoch_as_in_a_short_one(facts):
    short, long = facts["waits"]
    assert short == long
    assert 1 <= short < 20  # for the sums of the metrics, and to unite batch-norm statistics


def test_work_enqueued_with_the_last_batch_is_inside_the_window(facts):
    window = facts["window"]
    assert window["loaded"] - window["plain"] > 0.5 * window["alone"], window
    assert window["left"] < 0.25 * window["alone"], window


@pytest.mark.parametrize(("backend", "replicas"), [("tensorflow-mirrored", 8), ("torch-xla", 8)])
def test_a_window_ends_with_its_work(small, backend, replicas):
    """tf.data's own tuning made windows of many replicas end long after their last batch."""
    facts = observed("observe_tails.py", backend, replicas, small.manifest, small.folder)
    assert max(facts["tails"]) < 0.5, facts
