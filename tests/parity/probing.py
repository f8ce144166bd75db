"""Probes through the program of the parity gate, its verdicts on them, and other programs of this folder."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
from workspace import CONFIG, INDUCTOR, ROOT, Arrays, command, config_of, job, run_python, succeed

from paragone.config.expand import probe
from paragone.config.run_spec import Spec
from paragone.parity.compare import report
from paragone.workers import supervisor

PATHS = os.pathsep.join(str(ROOT / name) for name in ("scripts", "tests", "tests/unit"))


def probe_command(spec: Spec, arrays: Arrays, output: Path) -> list[str]:
    """The command that probes a specification."""
    return command("probe", **_keys(spec, arrays, output))


def probe_in_one_process(specs: list[Spec], arrays: list[Arrays], outputs: list[Path]) -> None:
    """Probe several specifications, each on the arrays of its data set, without the import of each."""
    by_name = {json.loads(each.manifest.read_text())["dataset"]: each for each in arrays}
    jobs = []
    for spec, output in zip(specs, outputs, strict=True):
        keys = _keys(spec, by_name[spec.workload.dataset], output)
        jobs += job(**keys, unsupervised=True)
    program = "import sys, probe\nfor path in sys.argv[1:]: probe.main([path])"
    printed = run_python(program, *jobs, timeout=3600, **INDUCTOR)
    # The absence of a device may say so.
    assert "] failed: " not in printed, printed


def _keys(spec: Spec, arrays: Arrays, output: Path) -> dict[str, Any]:
    data = {"manifest": arrays.manifest, "data_folder": arrays.folder}
    return {"spec": spec, "output": output, **data}


def observe(
    backend: str,
    workloads: list[str],
    arrays: list[Arrays],
    folder: Path,
    config: dict = CONFIG,
    replicas: int = 1,
) -> None:
    """Write <workload>/<backend>.npz for every workload, in one process."""
    specs = [probe(config_of(config), workload, backend, replicas) for workload in workloads]
    outputs = [folder / workload / f"{backend}.npz" for workload in workloads]
    probe_in_one_process(specs, arrays, outputs)


def judge(workload: str, reference: Path, probes: list[Path]) -> dict:
    """The gate's verdicts by backend; each has the name of its probe's file."""
    return msgspec.to_builtins(report(workload, reference, probes).backends)


def last_of(program: str, *options: object, **variables: str) -> Any:
    """Run a program of this folder; what its last line of JSON says."""
    line = [sys.executable, Path(__file__).with_name(program), *options]
    printed = succeed([*map(str, line)], 3000, PYTHONPATH=PATHS, **variables)
    return json.loads(printed.splitlines()[-1])


def run_workers(program: str, workers: int, *options: object) -> None:
    """Run every worker of a program of this folder to its end; each must succeed."""
    # The supervisor passes no path of imports on.
    variables = {"PYTHONPATH": PATHS, **INDUCTOR}
    line = ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable]
    line += [str(Path(__file__).with_name(program)), *map(str, options)]
    failed = supervisor.run(line, workers)
    assert failed is None, failed.tails


def observe_engine(spec: Spec, arrays: Arrays, place: Path) -> list[dict]:
    """The facts of each rank; `place`: an empty folder in which the workers meet."""
    options = (spec.to_json(), arrays.manifest, arrays.folder, place)
    run_workers("observe_engine.py", spec.workers, *options)
    return json.loads((place / "facts.json").read_text())
