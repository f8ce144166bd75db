"""Wrong engines: real changes of their code, each of which the parity gate must refuse for its reason.

mutants/ lists them, a file per framework. Beside what an `Edit` has, each names

    workload   the one that shows it
    group      of deviations, the first that fails
    quick      seen on `torch` in `make test`, too
    unseen     backends whose gate in single precision passes
    exempt     backends that read the file and compute nothing wrong: `OVERRIDES`, or the error that ends them

A mutant is run on every backend that reads the changed file. Where the reference reads it, too, both are
wrong alike, and the backends that do not read it are refused: somebody is wrong.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from faults.planting import Edit
from parity.probing import judge, observe
from workspace import CONFIG, ROOT, Arrays, Checkout

from paragone.config.code_files import code_files
from paragone.config.expand import with_reference

BACKENDS = ("torch", "torch-xla", "tensorflow-mirrored", "jax")
OVERRIDES = "overrides it"


@dataclass(frozen=True, kw_only=True)
class Mutant(Edit):
    """One entry."""

    workload: str
    group: str
    quick: bool = False
    unseen: list[str] = field(default_factory=list)
    exempt: dict[str, str] = field(default_factory=dict)

    def read_by(self, backend: str) -> bool:
        """Whether what a backend, or the reference, computes depends on the file."""
        engine = with_reference(CONFIG)["backends"][backend]["engine"]
        return ROOT / self.file in code_files("probe.py", f"paragone.engines.{engine}")

    def refused(self) -> list[str]:
        """The backends that the gate must refuse."""
        shared = self.read_by("reference")
        wrong = [name for name in BACKENDS if self.read_by(name) != shared]
        return [name for name in wrong if name not in self.exempt]


MUTANTS = [
    Mutant(**entry)
    for path in sorted(Path(__file__).with_name("mutants").glob("*.toml"))
    for entry in tomllib.loads(path.read_text())["mutant"]
]
CASES = [(mutant, backend) for mutant in MUTANTS for backend in mutant.refused()]
# XLA's compilation takes the time of all others together; the arithmetic is that of PyTorch.
SINGLE = [case for case in CASES if case[1] != "torch-xla"]


def parameters(cases: list[tuple[Mutant, str]]) -> list:
    return [
        pytest.param(
            mutant,
            backend,
            id=f"{mutant.name}-on-{backend}",
            marks=[] if mutant.quick and backend == "torch" else pytest.mark.nightly,
        )
        for mutant, backend in cases
    ]


class Gate:
    """The gate of a copy of the project, in one precision, with a mutant or without one."""

    def __init__(self, copy: Checkout, arrays: list[Arrays], folder: Path, precision: str) -> None:
        self.copy, self.arrays, self.folder = copy, arrays, folder
        self.config = CONFIG | {
            "backends": {
                name: block | {"parity": precision} for name, block in CONFIG["backends"].items()
            }
        }
        self.clean = cache(self._observe)

    def _observe(self, backend: str, workload: str, label: str = "clean") -> Path:
        folder = self.folder / label
        observe(backend, [workload], self.arrays, folder, self.config, self.copy / "scripts")
        return folder / workload / f"{backend}.npz"

    def verdict(self, mutant: Mutant, backend: str) -> dict:
        """The gate's verdict on a backend."""
        with mutant.planted(self.copy):
            found, reference = (
                self._observe(name, mutant.workload, mutant.name)
                if mutant.read_by(name)
                else self.clean(name, mutant.workload)
                for name in (backend, "reference")
            )
        output = self.folder / mutant.name / f"{backend}.json"
        return judge(mutant.workload, reference, [found], output)[backend]


@pytest.fixture(scope="module")
def gate_at(in_one_folder, tmp_path_factory) -> Callable[[str], Gate]:
    """The gate of a copy, by precision."""
    folder = tmp_path_factory.mktemp("mutants")
    copy = Checkout(folder / "checkout")
    return cache(lambda precision: Gate(copy, in_one_folder, folder / precision, precision))


def test_every_mutant_fits_the_code_and_frameworks_have_twenty():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    for backend in BACKENDS:
        assert sum(backend in mutant.refused() for mutant in MUTANTS) >= 20
    assert sum(mutant.quick for mutant in MUTANTS) == 4
    for mutant in MUTANTS:
        mutant.fits()
        assert set(mutant.unseen) <= set(mutant.refused())


@pytest.mark.parametrize(("mutant", "backend"), parameters(CASES))
def test_a_mutant_is_refused_for_its_reason(gate_at, mutant, backend):
    verdict = gate_at("float64").verdict(mutant, backend)
    assert verdict["passed"] is False
    assert verdict["reason"].startswith(f"{mutant.group} deviate by "), verdict["reason"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mutant", "backend"),
    [pytest.param(one, name, id=f"{one.name}-{name}") for one in MUTANTS for name in one.exempt],
)
def test_an_exempt_backend_computes_the_same_or_ends_with_its_error(gate_at, mutant, backend):
    if mutant.exempt[backend] == OVERRIDES:
        assert gate_at("float64").verdict(mutant, backend)["passed"] is True
    else:
        with pytest.raises(AssertionError, match=mutant.exempt[backend]):
            gate_at("float64").verdict(mutant, backend)


@pytest.mark.nightly
@pytest.mark.parametrize(("mutant", "backend"), parameters(SINGLE))
def test_what_the_gate_sees_in_single_precision(gate_at, mutant, backend):
    verdict = gate_at("float32").verdict(mutant, backend)
    assert verdict["passed"] is (backend in mutant.unseen), verdict["reason"]
