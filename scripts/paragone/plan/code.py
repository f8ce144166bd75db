"""Which code decides what a program does: one digest for each group of rooms.

Rules have it as a parameter, so that an edit reruns what it can change: that of a figure draws again, and
trains nothing. A module of a plugin or of a paper belongs to the digests of what it is used by.
"""

import hashlib
import os
from functools import cache
from pathlib import Path

from paragone.base import plugins
from paragone.base.atomic_files import sha256
from paragone.config.run_spec import Spec

PROJECT = plugins.LIBRARY.parents[1]
_SPECIFICATION = (
    "base tasks config/run_spec.py config/schedules.py config/engines.py config/decode.py"
)
_TRAINING = (
    f"{_SPECIFICATION} data/__init__.py data/batches.py data/random_streams.py models machine engines "
    "parity workers training records/run_record.py records/run_metrics.py records/measurements.py "
    "../launch.py ../train.py ../probe.py"
)
_ANALYSIS = "base tasks config records analysis ../collect.py"
# Rooms of scripts/paragone/ and files in them, by group.
GROUPS = {
    "data": f"{_SPECIFICATION} config/datasets.py data models/__init__.py models/start.py models/weights.py "
    "models/tensorflow.py ../fetch.py ../serialize.py",
    "training": _TRAINING,
    "timing": f"{_TRAINING} timing records/contest_record.py records/record.py ../hold_contests.py "
    "../participate.py",
    "measuring": f"{_TRAINING} microbenchmarks ../measure_products.py",
    "gate": f"{_TRAINING} ../check_parity.py",
    "environments": "base ../make_environment.py",
    "analysis": _ANALYSIS,
    "reporting": f"{_ANALYSIS} reporting ../draw.py ../answer.py ../write_page.py",
}


def code_of(program: str, group: str, *names: str) -> list[str]:
    """Return what a rule has as its parameter `code`: the path of a program, and a digest of its code.

    `program`: a file of scripts/, or its path in this project, whose folder then counts, too. It is
    returned relative to the project: a moved checkout must not look like a change. `names`: see `digest_of`.
    """
    path = program if "/" in program else f"scripts/{program}"
    folder = (PROJECT / path).parent
    beside = sorted(folder.rglob("*.py")) if "/" in program else []
    return [path, _digest([digest_of(group, *names), *(_line(file, folder) for file in beside)])]


def content_of(*paths: str | Path) -> str:
    """Return the digest of what some files hold, wherever they are, as far as they are there."""
    return _digest(sorted(sha256(Path(path)) for path in paths if Path(path).exists()))


def digest_of(group: str, *names: str) -> str:
    """Return the digest of the code of a group, 16 hexadecimal digits.

    `names`: of models, engines and forms of data that plugins may have, see `plugins.users`.
    """
    figures = ["reporting"] if group == "reporting" else []
    folders = plugins.folders() if figures else plugins.users(*names)
    packages = figures or ["models", "engines", "data"]
    lines = [
        _line(file, folder)
        for folder in folders
        for package in packages
        for file in sorted((folder / package).rglob("*.py"))
    ]
    return _digest([_of_group(group), *lines])


def loaded_names(*specs: Spec) -> set[str]:
    """Return the names of what runs load by name: engines and models."""
    return {name for spec in specs for name in (spec.backend.engine, spec.workload.model_name)}


@cache
def _of_group(group: str) -> str:
    paths = [plugins.LIBRARY / name for name in GROUPS[group].split()]
    files = [file for path in paths for file in ([path] if path.suffix else path.rglob("*.py"))]
    return _digest([_line(file, PROJECT / "scripts") for file in sorted({*files})])


def _line(file: Path, folder: Path) -> str:
    return f"{os.path.relpath(file, folder)} {sha256(file)}"


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
