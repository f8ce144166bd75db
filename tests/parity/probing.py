"""Probes through the program of the parity gate, its verdicts on them, and other programs of this folder."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
from workspace import CONFIG, INDUCTOR, ROOT, Arrays, call, command, config_of, succeed

from paragone.config.expand import probe
from paragone.config.run_spec import Spec
from paragone.parity.compare import report
from paragone.workers import supervisor

PATHS = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])


def probe_command(
    specs: list[Spec], arrays: list[Arrays], outputs: list[Path], **keys: object
) -> list[str]:
    """The command that probes the specifications; all arrays are in one data folder."""
    return command(
        "probe",
        specs=specs,
        manifests=[each.manifest for each in arrays],
        data_folder=arrays[0].folder,
        outputs=outputs,
        **keys,
    )


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
    done = call(probe_command(specs, arrays, outputs), timeout=1200, **INDUCTOR)
    assert done.returncode == 0, done.stderr
    # The absence of a device may say so.
    assert "] failed: " not in done.stdout, done.stdout + done.stderr


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
