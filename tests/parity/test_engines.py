"""Every engine keeps the contract of `paragone.engines.Engine`, with one replica and with several."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from workspace import CONFIG, INDUCTOR, ROOT, call

CELLS = [
    ("torch", 1),
    ("tensorflow-mirrored", 1),
    ("tensorflow-mirrored", 4),
    ("torch-xla", 1),
    ("torch-xla", 4),
    ("torch-compile", 1),
    ("keras-fit", 1),
    ("keras-fit", 4),
    ("jax", 1),
    ("jax", 4),
]
BACKENDS = sorted({backend for backend, _ in CELLS})
WORKLOADS = sorted(CONFIG["workloads"])
# Of weights learned in single precision, relative; replicas add up in another order than one.
TOLERANCE = {"weights": 1e-4, "statistics": 1e-3}
# The deep ones on one replica of the frameworks that need not compile them for a minute.
DEEP = {"mobilenet-v2", "wide-resnet"}
COMPILED = {"torch-xla", "torch-compile", "jax"}  # for seconds up to minutes


def workloads_of(cell: tuple[str, int]) -> list[str]:
    """What is trained in a cell; with several replicas: batch norm, none, and sparse gradients."""
    backend, replicas = cell
    if replicas > 1:
        return ["fashion-cnn", "fashion-conv", "reuters-cnn"]
    left_out = {"reuters-cnn-double-softmax"}  # differs by its loss alone, which the gate has seen
    if backend in COMPILED:
        left_out |= DEEP
    return [name for name in WORKLOADS if name not in left_out]


def tier(cell: tuple[str, int], workload: str) -> str:
    """Where a case runs: in `make test` if ""; else the mark of its tier.

    `full`: sparse gradients of several replicas, which are here alone, with those of one beside them; deep
    models on PyTorch; TensorFlow, which the gate and the smoke run have; of XLA fashion-conv, to see what
    leaks out of a window. `nightly`: dense gradients of several replicas, which test_replicas.py has in
    double precision; what keras-fit and torch-compile inherit from TensorFlow and PyTorch; deep models and
    XLA's fashion-cnn, which the gate and the smoke run have.
    """
    backend, replicas = cell
    if replicas > 1:
        sparse = workload == "reuters-cnn" and backend != "keras-fit"
        return "full" if sparse else "nightly"
    if backend in ("keras-fit", "torch-compile") or (workload in DEEP and backend != "torch"):
        return "nightly"
    if backend in COMPILED:
        return "nightly" if workload == "fashion-cnn" else "full"
    return "" if backend == "torch" and workload not in DEEP else "full"


def case(cell: tuple[str, int], *workload: str, of: str = "") -> object:
    """A test's parameters in their tier; the backend comes first, see GROUPS in conftest.py.

    `of`: the workload that the test looks at, if that is no parameter.
    """
    mark = tier(cell, *workload or (of,))
    marks = [getattr(pytest.mark, mark)] if mark else []
    return pytest.param(cell, *workload, marks=marks, id="-".join(map(str, (*cell, *workload))))


OBSERVED = [case(cell, workload) for cell in CELLS for workload in workloads_of(cell)]


@dataclass(frozen=True)
class Observed:
    """What tests/parity/observe_engine.py wrote for one cell."""

    facts: dict
    arrays: dict[str, np.ndarray]

    def weights(self, workload: str, series: str = "plain") -> dict[str, np.ndarray]:
        """Canonical weights after two epochs of five steps."""
        prefix = f"{workload}/{series}/"
        return {
            name.removeprefix(prefix): values
            for name, values in self.arrays.items()
            if name.startswith(prefix)
        }


def together(cell: tuple[str, int], workload: str) -> list[str]:
    """The workloads that one process observes, this one among them.

    The reductions of several replicas in TensorFlow are numbered by process: a second model there
    would meet the first one's.
    """
    if cell[0] in ("tensorflow-mirrored", "keras-fit") and cell[1] > 1:
        return [workload]
    return [each for each in workloads_of(cell) if tier(cell, each) == tier(cell, workload)]


def observe(cell: tuple[str, int], workloads: list[str], data_of: dict, folder: Path) -> Observed:
    backend, replicas = cell
    output = folder / f"{backend}-{replicas}-{'-'.join(workloads)}.npz"
    program = Path(__file__).with_name("observe_engine.py")
    line = [sys.executable, program, backend, replicas, output]
    for workload in workloads:
        arrays = data_of[CONFIG["workloads"][workload]["dataset"]]
        line.append(f"{workload}={arrays.manifest}={arrays.folder}")
    paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
    done = call([*map(str, line)], timeout=400, PYTHONPATH=paths, **INDUCTOR)
    assert done.returncode == 0, done.stderr
    with np.load(output) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    return Observed(json.loads(str(found.pop("facts"))), found)


@pytest.fixture(scope="session")
def observed(data_of, tmp_path_factory) -> Callable[[tuple[str, int], str], Observed]:
    """What was observed of a workload in a cell; each process runs when it is first asked for."""
    folder = tmp_path_factory.mktemp("observed")

    @cache
    def once(cell: tuple[str, int], workloads: tuple[str, ...]) -> Observed:
        return observe(cell, [*workloads], data_of, folder)

    return lambda cell, workload: once(cell, tuple(together(cell, workload)))


def deviation(found: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(found - reference) / max(np.linalg.norm(reference), 1e-30))


def deviations(found: dict, reference: dict) -> tuple[float, float]:
    """The largest deviation of the learned weights, and of the batch-norm statistics."""
    assert found.keys() == reference.keys()
    learned = [deviation(found[n], reference[n]) for n in found if "moving" not in n]
    rest = [deviation(found[n], reference[n]) for n in found if "moving" in n]
    return max(learned), max(rest, default=0.0)


@pytest.mark.parametrize(("cell", "workload"), OBSERVED)
def test_devices_are_those_asked_for(observed, cell, workload):
    assert observed(cell, workload).facts[workload]["replicas"] == cell[1]


@pytest.mark.parametrize(("cell", "workload"), OBSERVED)
def test_warm_up_leaves_no_trace(observed, cell, workload):
    """Weights at once, and weights and metrics of two epochs later, to the last bit.

    Dropout and augmentation included.
    """
    found = observed(cell, workload)
    facts = found.facts[workload]
    assert facts["after_warm_up"] == facts["initial"]
    assert facts["warmed_metrics"] == facts["plain_metrics"]
    plain, warmed = found.weights(workload), found.weights(workload, "warmed")
    assert plain
    assert all(np.array_equal(warmed[name], values) for name, values in plain.items())


@pytest.mark.parametrize("cell", [case(cell, of="fashion-cnn") for cell in CELLS])
def test_evaluation_counts_each_example_once(observed, cell):
    """In batches of 768, whose last holds 16 examples, against predictions of all 10,000."""
    facts = observed(cell, "fashion-cnn").facts["fashion-cnn"]
    loss, accuracy = facts["evaluated"]
    # An example whose two best classes are equal to the last digits may fall either way.
    assert accuracy * 10_000 == pytest.approx(facts["correct"], abs=2)
    assert loss == pytest.approx(facts["loss"], rel=1e-5)
    assert 1200 < facts["correct"] < 10_000


@pytest.mark.parametrize(
    ("cell", "workload"),
    [case(cell, name) for cell in CELLS if cell[1] > 1 for name in ("fashion-conv", "reuters-cnn")],
)
def test_replicas_share_a_batch_as_one_would_take_it(observed, cell, workload):
    several, one = observed(cell, workload), observed((cell[0], 1), workload)
    learned, _ = deviations(several.weights(workload), one.weights(workload))
    assert learned < TOLERANCE["weights"]
    for found, reference in zip(
        several.facts[workload]["plain_metrics"],
        one.facts[workload]["plain_metrics"],
        strict=True,
    ):
        assert found == pytest.approx(reference, rel=1e-4)


def batch_norm_deviations(observed, backend: str) -> tuple[float, float]:
    """How far four replicas' weights and statistics are from one's."""
    several, one = (observed((backend, replicas), "fashion-cnn") for replicas in (4, 1))
    return deviations(several.weights("fashion-cnn"), one.weights("fashion-cnn"))


@pytest.mark.parametrize("cell", [case(("torch-xla", 4))])
def test_spmd_batch_norm_sees_the_global_batch(observed, cell):
    learned, statistics = batch_norm_deviations(observed, cell[0])
    assert learned < TOLERANCE["weights"]
    assert statistics < TOLERANCE["statistics"]


@pytest.mark.parametrize("cell", [case(("tensorflow-mirrored", 4))])
def test_mirrored_batch_norm_sees_its_replicas_batch(observed, cell):
    """Each replica normalizes by its own examples: another model, measurably, but a near one."""
    learned, statistics = batch_norm_deviations(observed, cell[0])
    assert 0.001 < learned < 0.5
    assert statistics < 0.2


@pytest.mark.parametrize("cell", [case((backend, 1), of="fashion-conv") for backend in BACKENDS])
def test_no_work_leaks_out_of_the_train_window(observed, cell):
    """Waiting for the devices right after an epoch of two big steps takes next to nothing."""
    assert min(observed(cell, "fashion-conv").facts["fashion-conv"]["leak"]) < 0.03


@pytest.mark.parametrize("cell", [case(("torch", 1), of="fashion-conv")])
def test_a_leak_would_be_seen(observed, cell):
    """The same measurement of an engine that returns without waiting."""
    facts = observed(cell, "fashion-conv").facts["fashion-conv"]
    assert min(facts["leak_of_a_late_engine"]) > 1
