"""The probes of every backend, made once for all tests of the parity gate."""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from parity.probing import BACKENDS, QUICK, SLOW, WORKLOADS, backends_of, observe
from parity.short_runs import ShortRuns
from workspace import ROOT, Arrays, call


def linked(data_of: dict[str, Arrays], folder: Path) -> list[Arrays]:
    """Data sets in one data folder."""
    (folder / "arrays").mkdir()
    for arrays in data_of.values():
        place = json.loads(arrays.manifest.read_text())["folder"]
        (folder / place).symlink_to(arrays.folder / place)
    return [Arrays(arrays.manifest, folder) for arrays in data_of.values()]


@pytest.fixture(scope="session")
def in_one_folder(data_of, tmp_path_factory) -> list[Arrays]:
    """The data sets of `data_of`, in one data folder."""
    return linked(data_of, tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def stand_ins_in_one_folder(stand_ins, tmp_path_factory) -> list[Arrays]:
    """The `stand_ins`, in one data folder."""
    return linked(stand_ins, tmp_path_factory.mktemp("stand_ins_in_one_folder"))


def asked_for(session: pytest.Session) -> dict[str, list[str]]:
    """By backend, the workloads whose probes the tests of this session look at; the slowest first."""
    tests = [one for one in session.items if "probes_of" in getattr(one, "fixturenames", ())]
    parameters = [one.callspec.params for one in tests if hasattr(one, "callspec")]
    if not any({"workload", "backend"} & one.keys() for one in parameters):  # tests of failures
        return {name: ["fashion-cnn"] for name in ("torch", "reference")}
    named = {one.get("workload") for one in parameters}
    workloads = [*QUICK, *(SLOW if named & set(SLOW) else [])]
    others = (name for name in BACKENDS if name != "torch-xla")
    asked = {
        name: [workload for workload in workloads if name in backends_of(workload)]
        for name in ("torch-xla", *others)
    }
    return {**asked, "reference": workloads}


@pytest.fixture(scope="session")
def probes_of(request, in_one_folder, tmp_path_factory) -> Callable[[str], Path]:
    """A folder with <backend>.npz of every backend and the reference, by workload.

    The workloads that any test asks for are probed together, in one process per backend.
    """

    @cache
    def made() -> Path:
        folder = tmp_path_factory.mktemp("probes")
        with ThreadPoolExecutor(2) as pool:
            waiting = [
                pool.submit(observe, backend, workloads, in_one_folder, folder)
                for backend, workloads in asked_for(request.session).items()
            ]
        for each in waiting:
            each.result()
        return folder

    return lambda workload: made() / workload


@pytest.fixture(scope="session")
def gate_of_wrong_engines(in_one_folder, tmp_path_factory) -> Callable[..., dict]:
    """What parity/judge_wrong_engines.py prints of a backend in a precision."""
    references = tmp_path_factory.mktemp("references")
    workloads = [name for name in WORKLOADS if name != "mobilenet-v2"]

    @cache
    def made() -> None:
        observe("reference", workloads, in_one_folder, references)

    def judged(backend: str, precision: str, which: str = "all") -> dict:
        made()
        program = Path(__file__).with_name("judge_wrong_engines.py")
        line = [sys.executable, program, backend, precision, which]
        line += [in_one_folder[0].folder, references]
        line += [arrays.manifest for arrays in in_one_folder]
        paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
        done = call([*map(str, line)], timeout=3000, PYTHONPATH=paths)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return judged


@pytest.fixture(scope="session")
def short_runs(small, data_of, tmp_path_factory) -> ShortRuns:
    """Runs of two steps, whose first steps are compared with the reference's."""
    return ShortRuns(small, data_of, tmp_path_factory.mktemp("short_runs"))
