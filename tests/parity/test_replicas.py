"""N replicas at global batch B give the weights of one replica at batch B, in double precision.

Batch norm is the one exception, and differs exactly as docs/method.md states.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from workspace import CONFIG, ROOT, environment, make_spec

from paragone.config.engines import engine_named
from paragone.workers import supervisor

REPLICAS, BATCH, STEPS = 2, 64, 4
ONE = {
    "torch-ddp": "torch",
    "torch-fsdp": "torch",
    "tensorflow-mirrored": "tensorflow-mirrored",
    "tensorflow-multiworker": "tensorflow-mirrored",
    "keras-fit": "tensorflow-mirrored",
    "torch-xla": "torch-xla",
    "jax": "jax",
    "jax-multiprocess": "jax",
}
FIRST = ["torch-ddp", "torch-fsdp"]
# Adds sparse gradients in `make test-all`; test_engines.py has them of TensorFlow in single precision.
SPARSE = ["torch-ddp"]
PER_REPLICA = [*FIRST, "tensorflow-mirrored", "tensorflow-multiworker", "keras-fit"]
# The others: `make test-all`, or nightly.
QUICK = ["torch-ddp"]
# The smoke run, or test_first_steps.py, compares their steps with the reference's, in single precision.
NIGHTLY = ["tensorflow-multiworker", "torch-xla", "jax-multiprocess"]


def tier(backend: str) -> list[pytest.MarkDecorator]:
    """The mark of a backend."""
    if backend in QUICK:
        return []
    return [pytest.mark.nightly if backend in NIGHTLY else pytest.mark.full]


def tiers(backends: Iterable[str]) -> list:
    """Backends as parameters, each in its tier."""
    return [pytest.param(name, marks=tier(name)) for name in backends]


def run(folder: Path, arrays, workload: str, backend: str, replicas: int, mode: str = "") -> dict:
    """What tests/parity/observe_workers.py wrote."""
    spec = make_spec(workload, backend, replicas, BATCH, steps_per_epoch=STEPS, precision="float64")
    place = folder / f"{workload}-{backend}-{replicas}"
    place.mkdir()
    output = folder / f"{place.name}{mode}.npz"
    line = [sys.executable, str(Path(__file__).with_name("observe_workers.py")), spec.to_json()]
    line += [str(arrays.manifest), str(arrays.folder), str(output), mode or str(place)]
    paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(PYTHONPATH=paths).items():
            patch.setenv(name, value)
        children = supervisor.start(line, 1 if mode else spec.workers)
    failed = supervisor.first_to_fail(children)
    supervisor.end(children)
    assert failed is None, failed.tails
    with np.load(output) as found:
        return {name: found[name] for name in found.files}


def deviation(found: dict, reference: dict, part: str) -> float:
    """The largest relative deviation of the arrays whose name holds `part`."""
    names = [name for name in reference if part in name]
    assert names
    return max(
        float(np.linalg.norm(found[name] - reference[name]) / np.linalg.norm(reference[name]))
        for name in names
    )


# Without batch norm. The second one's sparse gradients go another way (SPMD: see test_engines.py).
WITHOUT = [pytest.param("fashion-conv", name, marks=tier(name)) for name in ONE]
WITHOUT += [
    pytest.param(
        "reuters-cnn", name, marks=pytest.mark.full if name in SPARSE else pytest.mark.nightly
    )
    for name in PER_REPLICA
]


@pytest.fixture(scope="module")
def without(small, data_of, tmp_path_factory) -> Callable[[str, str, int], dict]:
    """What came out of a model without batch norm, by workload, backend and replicas; run when asked for."""
    folder = tmp_path_factory.mktemp("without")
    arrays = {"fashion-conv": small, "reuters-cnn": data_of["reuters"]}
    return cache(lambda workload, *cell: run(folder, arrays[workload], workload, *cell))


@pytest.fixture(scope="module")
def normalised(small, tmp_path_factory) -> Callable[[str], dict]:
    """A model with batch norm: what came out of two replicas, by backend; run when asked for."""
    folder = tmp_path_factory.mktemp("normalised")
    return cache(lambda backend: run(folder, small, "fashion-cnn", backend, REPLICAS))


@pytest.fixture(scope="module")
def reference(small, tmp_path_factory) -> dict[str, dict]:
    """What two replicas compute by the parity gate's reference, by whose statistics evaluate."""
    return {
        whose: run(
            tmp_path_factory.mktemp(whose), small, "fashion-cnn", "torch-ddp", REPLICAS, whose
        )
        for whose in ("first", "mean")
    }


@pytest.mark.parametrize(("workload", "backend"), WITHOUT)
def test_replicas_give_the_weights_of_one(without, workload, backend):
    found = without(workload, backend, REPLICAS)
    reference = without(workload, ONE[backend], 1)
    assert deviation(found, reference, ".") < 1e-9


@pytest.mark.parametrize(("workload", "backend"), WITHOUT)
def test_losses_are_of_the_global_batch_and_each_test_example_counts_once(
    without, workload, backend
):
    found = without(workload, backend, REPLICAS)
    reference = without(workload, ONE[backend], 1)
    assert found["loss"] == pytest.approx(reference["loss"], rel=1e-5)
    assert found["accuracy"] == pytest.approx(reference["accuracy"], rel=1e-6)


@pytest.mark.parametrize("backend", tiers(PER_REPLICA))
def test_batch_norm_normalises_each_replicas_part(normalised, reference, backend):
    learned = {n: values for n, values in reference["mean"].items() if "moving" not in n}
    assert deviation(normalised(backend), learned, ".") < 1e-6


@pytest.mark.parametrize("backend", tiers(PER_REPLICA))
def test_batch_norm_statistics_are_of_the_replicas_stated(normalised, reference, backend):
    whose = "first" if backend in FIRST else "mean"
    assert engine_named(CONFIG["backends"][backend]["engine"]).batch_norm == whose
    other = {"first": "mean", "mean": "first"}[whose]
    found = normalised(backend)
    assert deviation(found, reference[whose], "moving_mean") < 1e-6
    assert deviation(found, reference[other], "moving_mean") > 1e-3
    # Keras keeps the biased variance, PyTorch the unbiased one: n / (n - 1) apart.
    assert deviation(found, reference[whose], "moving_variance") < 1e-2


@pytest.mark.nightly  # test_first_steps.py has it in single precision
def test_batch_norm_over_processes_is_of_the_global_batch(small, tmp_path):
    one = run(tmp_path, small, "fashion-cnn", "jax", 1)
    found = run(tmp_path, small, "fashion-cnn", "jax-multiprocess", REPLICAS)
    assert engine_named(CONFIG["backends"]["jax"]["engine"]).batch_norm == "whole"
    assert deviation(found, one, ".") < 1e-6


@pytest.mark.full
def test_one_thread_of_pytorch_copies_for_the_devices_of_xla():
    """More would spin beside those of XLA, which have the same cores."""
    program = (
        "import torch; torch.set_num_threads(2)\n"
        "from paragone.engines.torch_xla_devices import choose; choose('cpu', 2)\n"
        "assert torch.get_num_threads() == 1"
    )
    variables = environment(PYTHONPATH=str(ROOT / "scripts"))
    subprocess.run([sys.executable, "-c", program], env=variables, check=True)
