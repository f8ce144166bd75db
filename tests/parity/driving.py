"""Starts tests/parity/observe_engine.py, and other programs of this folder that are the workers of a run."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from workspace import INDUCTOR, ROOT, Arrays, succeed

from paragone.config.run_spec import Spec
from paragone.workers import supervisor

PATHS = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])


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
