"""What `make test-all` tests on more backends; the tests are those of the other files."""

import pytest
import torch
import torchvision
from parity.test_engines import (
    test_a_run_takes_the_steps_of_the_reference,
    test_an_engine_keeps_its_contract,
    test_every_protocol_passes,
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason,
    test_every_wrong_engine_is_refused_for_its_reason,
)
from workspace import ROOT, run_python

from paragone.base import plugins
from paragone.tasks import Task

pytestmark = pytest.mark.full

TASK = Task(name="classification", class_weights=(9.0, *[0.5] * 9), rule="pytorch")


def test_a_wrong_engine_of_several_replicas_is_refused(short_runs, cell):
    backend, bug, group = cell
    steps = short_runs.first_steps(backend, 2, "float32", bug=bug)
    assert steps.passed is False
    assert f"{group} deviate by" in steps.reason


def test_a_record_of_several_replicas_shows_what_was_wrong(short_runs, cell):
    backend, bug = cell
    assert short_runs.broken(backend, bug) == {"weighed"}
    assert short_runs.broken(backend) == set()


def test_class_weights_are_averaged_over_the_global_batch(short_runs, cell):
    """Two replicas have labels of different weights, so that a mean per replica would be wrong."""
    steps = short_runs.first_steps(cell, 2, "float64", task=TASK)
    assert steps.passed, steps.reason
    bug = "weights-of-each-replica"
    steps = short_runs.first_steps(cell, 2, "float64", task=TASK, bug=bug)
    assert steps.passed is False
    assert "updates deviate by" in steps.reason


CELLS = {
    test_an_engine_keeps_its_contract: [
        ("torch-ddp", 2),
        ("tensorflow-mirrored", 3),
        ("torch-xla", 2),
        ("jax", 2),
    ],
    # Single precision is in the smoke run.
    test_a_run_takes_the_steps_of_the_reference: [
        ("torch-fsdp", 2, "float64", "nanogpt-cpu", 12),  # a weight that is used twice
        ("torch-ddp", 2, "float64"),
        ("tensorflow-mirrored", 2, "float64"),
        ("jax", 2, "float64"),
        ("torch-xla", 2, "float64"),
        ("torch-ddp", 2, "float64", "reuters-cnn"),  # sparse gradients
        ("jax-multiprocess", 2, "float32"),
        ("tensorflow-mirrored", 1, "bfloat16"),
        ("jax", 1, "bfloat16"),
        ("torch-ddp", 2, "float32", "fashion-conv", 64, "tuned"),
    ],
    # Backend, the bug that only several replicas show, and the group that deviates.
    test_a_wrong_engine_of_several_replicas_is_refused: [
        ("torch-ddp", "replicas-on-their-own", "updates"),
        ("torch-ddp", "statistics-of-the-second-replica", "means"),
    ],
    test_a_record_of_several_replicas_shows_what_was_wrong: [
        ("torch-ddp", "metrics-of-the-first-replica"),
        ("torch-ddp", "each-replica-has-the-first-part"),
    ],
    test_class_weights_are_averaged_over_the_global_batch: ["torch-ddp"],
    test_every_protocol_passes: [
        ("jax", "but enlarged images"),
        ("tensorflow-mirrored", "but enlarged images"),
        ("torch-xla", "kinds"),  # it has the rules of PyTorch
    ],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: [
        "jax",
        "tensorflow-mirrored",
    ],
    test_every_wrong_engine_is_refused_for_its_reason: [
        ("jax", "fashion-cnn", "float64", "own"),
        ("tensorflow-mirrored", "fashion-cnn", "float64", "own"),
    ],
}


def test_one_thread_of_pytorch_copies_for_the_devices_of_xla():
    """More would spin beside those of XLA, which have the same cores."""
    run_python(
        "import torch; torch.set_num_threads(2)\n"
        "from paragone.engines.torch_xla import choose; choose('cpu', 2)\n"
        "assert torch.get_num_threads() == 1"
    )


def test_the_widest_resnet_of_the_examples_is_torchvisions(monkeypatch):
    """All backends compute the same numbers from the same weights, and as many as the protocol documents."""
    monkeypatch.setenv(plugins.VARIABLE, str(ROOT / "examples/resnet50"))
    made = plugins.extend("models/torch.py", {})["resnet50"]
    mine = made((64, 64, 3), 1000, width=64, blocks=[3, 4, 6, 3])
    theirs = torchvision.models.resnet50(weights=None)
    assert sum(weight.numel() for weight in mine.parameters()) == 25_557_032
    values = theirs.state_dict().values()
    mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(mine(images), theirs(images), rtol=0, atol=0)
