"""The gate at what is timed: first steps of real runs at two replicas, and engines that only these show.

mutants_of_replicas.toml lists wrong engines as mutants/ does: `backend` is the one that must be refused, with
`group` among the reasons.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from faults.planting import Edit
from workspace import (
    CELLS,
    CONFIG,
    Arrays,
    Checkout,
    call,
    command,
    make_spec,
    succeed,
    train_command,
)

from paragone.config.expand import first_steps
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_record import FirstSteps

REPLICAS = 2
# Their runs of two replicas are in the smoke run, and asserted on there.
IN_SMOKE = {"tensorflow-mirrored", "tensorflow-multiworker", "torch-xla"}
BACKENDS = [name for name, replicas in CELLS if replicas == REPLICAS and name not in IN_SMOKE]
QUICK = "torch-ddp"
WORKERS = ["torch-ddp", "torch-fsdp"]


@dataclass(frozen=True, kw_only=True)
class Mutant(Edit):
    """One entry."""

    backend: str
    group: str


FILE = Path(__file__).with_name("mutants_of_replicas.toml")
MUTANTS = [Mutant(**entry) for entry in tomllib.loads(FILE.read_text())["mutant"]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Checkout:
    """The project, to be changed."""
    return Checkout(tmp_path_factory.mktemp("first-steps") / "checkout")


@pytest.fixture(scope="module")
def taken(copy, small, data_of, tmp_path_factory) -> Callable[..., FirstSteps]:
    """What the record of a short run on a backend says of its first steps, as the copy is now."""

    def arrays_of(spec: Spec) -> Arrays:
        dataset = spec.workload["dataset"]
        return small if dataset == "fashion_mnist" else data_of[dataset]

    @cache
    def expected(text: str) -> Path:
        output = tmp_path_factory.mktemp("expected") / "steps.npz"
        arrays = arrays_of(Spec.from_json(text))
        options = {"manifest": arrays.manifest, "data_folder": arrays.folder}
        succeed(command("take_first_steps", spec=text, output=output, **options), timeout=300)
        return output

    def run(
        backend: str,
        replicas: int = REPLICAS,
        precision: str = "float32",
        division: str = "as-installed",
        workload: str = "fashion-cnn",
        global_batch: int = 256,
    ) -> FirstSteps:
        changes: dict = {"epochs": 1, "steps_per_epoch": 2, "precision": precision}
        changes["tuning"] = CONFIG["backends"][backend]["tuned"] if division == "tuned" else {}
        spec = make_spec(workload, backend, replicas, global_batch, **changes)
        if "dropout" in spec.workload["model"]:  # else draws of the framework decide
            model = {**spec.workload["model"], "dropout": 0.0}
            spec = replace(spec, workload={**spec.workload, "model": model})
        folder, steps = tmp_path_factory.mktemp("run"), expected(first_steps(spec).to_json())
        line = train_command(spec, arrays_of(spec), folder, "launch", first_steps=steps)
        python, program, *options = line
        program = str(copy / "scripts" / Path(program).name)
        # A variable that is no part of any division: no worker may see it.
        others = {"PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "3"}
        done = call([python, program, *options], timeout=300, **others)
        assert done.returncode == 0, done.stdout + done.stderr
        made = record.read(folder / "record.json")
        for process in made.processes:
            assert process.variables == spec.tuning.get("variables", {})
        return made.first_steps

    return run


def marked(backend: str, mark: pytest.MarkDecorator) -> object:
    """In `make test` the quick one; FSDP is in test_replicas.py, too, so that here it is nightly."""
    mark = pytest.mark.nightly if backend == "torch-fsdp" else mark
    return pytest.param(backend, marks=[] if backend == QUICK else mark)


@pytest.mark.parametrize("backend", [marked(backend, pytest.mark.full) for backend in BACKENDS])
def test_two_replicas_take_the_steps_of_the_reference(taken, backend):
    found = taken(backend)
    assert found.passed, found.reason
    assert 0 < found.deviations["updates"] < 0.05


@pytest.mark.parametrize(
    "backend",
    [
        "torch",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("tensorflow-mirrored", "keras-fit", "torch-xla", "jax")
        ),
        pytest.param("torch-compile", marks=pytest.mark.nightly),
    ],
)
def test_mixed_precision_is_that_and_deviates_no_more_than_it_costs(taken, backend):
    """bfloat16 has 8 bits: updates are off by some 0.1 on each backend, in float32 by at most 0.007."""
    found = taken(backend, 1, "bfloat16")
    assert found.passed, found.reason
    assert 0.03 < found.deviations["updates"] < 0.5
    assert found.deviations["means"] > 1e-4  # in float32 2e-5 at most


MIXED = ["torch", "tensorflow-mirrored", "keras-fit", "torch-xla", "torch-compile", "jax"]


@pytest.mark.parametrize(
    ("backend", "replicas", "workload"),
    [
        *(pytest.param(name, 2, "fashion-cnn", marks=pytest.mark.full) for name in WORKERS),
        *(
            pytest.param(name, 2, "fashion-cnn", marks=pytest.mark.nightly)
            for name in ("tensorflow-multiworker", "jax-multiprocess")
        ),
        *(
            pytest.param(name, 1, workload, marks=pytest.mark.nightly)
            for name in MIXED
            for workload in ("fashion-conv", "reuters-cnn", "wide-resnet")
            if (name, workload) != ("torch-xla", "wide-resnet")  # see docs/backends.md
        ),
    ],
)
def test_workers_and_other_workloads_take_mixed_steps(taken, backend, replicas, workload):
    """WideResNet without its dropout: no run of it has such a verdict."""
    found = taken(backend, replicas, "bfloat16", workload=workload, global_batch=32 * replicas)
    assert found.passed, found.reason
    assert found.deviations["updates"] > 1e-3


@pytest.mark.nightly
def test_where_the_reference_itself_is_lost_there_is_no_verdict(taken):
    """MobileNetV2 multiplies what bfloat16 rounds: a verdict would be chance."""
    found = taken("torch", 1, "bfloat16", workload="mobilenet-v2", global_batch=32)
    assert found.passed is None
    assert (
        "no reference: in bfloat16 it deviates from itself in double precision, updates by"
        in found.reason
    )


@pytest.mark.parametrize(
    ("backend", "replicas", "workload"),
    [
        pytest.param("torch-ddp", 2, "fashion-conv", marks=pytest.mark.full),
        pytest.param("torch", 1, "fashion-conv", marks=pytest.mark.full),
        pytest.param("torch-compile", 1, "fashion-conv", marks=pytest.mark.nightly),
    ],
)
def test_tuned_engines_take_the_same_steps(taken, backend, replicas, workload):
    found = taken(backend, replicas, division="tuned", workload=workload)
    assert found.passed, found.reason


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, id=one.name, marks=[] if one.backend == QUICK else pytest.mark.nightly)
        for one in MUTANTS
    ],
)
def test_a_wrong_engine_is_refused(taken, copy, mutant):
    mutant.fits()
    with mutant.planted(copy):
        found = taken(mutant.backend)
    assert found.passed is False
    assert f"{mutant.group} deviate by" in found.reason
