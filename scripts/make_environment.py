"""Make the environment of a backend with versions of its own, once for all that have the same pins.

Requirements are resolved anew, near the pins of the backend's usual environment, and installed from wheels:
by uv, or by conda, which installs Python and pip itself. What cannot be resolved is a result, a run's status.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from paragone.base.atomic_files import sha256_of, write_text
from paragone.base.errors import UserError, entry_point
from paragone.base.interpreters import Interpreter
from paragone.base.locks import locked
from paragone.base.typed_json import Job, read_job, write

COMPLETE = "pins.txt"  # in an environment that is complete: what it has
PLATFORM = ["--python-platform", "x86_64-manylinux_2_31"]  # as envs/lock.sh has it
# uv's words where requirements cannot be met; other faults are no result.
UNRESOLVED = "No solution found"
# TensorFlow Datasets needs it; it is pure Python, published without a wheel.
SOURCES = ["--no-binary", "promise"]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or "uv"
PIPES: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


class Environment(Job, kw_only=True):
    """What to make: `requirements` as pip reads them, near the versions of `pins`.

    Without requirements the backend has the Python of a `folder` of the user's, or that of this process.
    `conda`: what conda installs itself; empty where uv makes the environment. `environments`: where it goes.
    """

    backend: str
    requirements: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    folder: str = ""
    environments: Path
    python: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    job: Environment = read_job(Environment, arguments)
    if not job.requirements:
        python = Path(job.folder, "bin/python").absolute() if job.folder else sys.executable
        result = Interpreter(python=str(python))
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = resolved_and_made(job, Path(folder))
    write(result, job.python)


def resolved_and_made(job: Environment, folder: Path) -> Interpreter:
    """Resolve the requirements and make the environment of the pins, unless it is there."""
    asked, listed = folder / "requirements.in", folder / COMPLETE
    write_text("\n".join(job.requirements), asked)
    write_text("\n".join(job.pins), listed)  # uv keeps these versions as far as it can
    version = next((text.split("=")[1] for text in job.conda if text.startswith("python")), None)
    target = ["--python-version", version, *PLATFORM] if version else ["--python", sys.executable]
    options = ["--generate-hashes", "--no-annotate", "--no-header", "--emit-find-links"]
    options += ["--only-binary", ":all:", *SOURCES, "--no-python-downloads"]
    # An index of the user's own, from which it is installed.
    if any("index" in line for line in job.requirements):
        options.append("--emit-index-url")
    said = run([UV, "pip", "compile", *options, *target, "--output-file", listed, asked])
    if UNRESOLVED in said:
        reason = f"its environment cannot be resolved: {sentence(said)}"
        print(f"[{job.backend}] unavailable: {reason}", flush=True)
        return Interpreter(reason=reason)
    pins = listed.read_text(encoding="utf-8")
    number = len(re.findall(r"(?m)^[^\s#-]", pins))
    key = sha256_of({"pins": pins, "python": job.conda or [sys.version, sys.base_prefix]})[:12]
    place = (job.environments / key).absolute()
    begin = time.monotonic()
    with locked(job.environments / f"{key}.lock", "makes the same environment"):
        if is_new := not (place / COMPLETE).exists():
            print(f"[{job.backend}] installing {number} packages into {place}", flush=True)
            shutil.rmtree(place, ignore_errors=True)  # of an interrupted call
            install(job, listed, place)
            write_text(pins, place / COMPLETE)
    how = f"made in {time.monotonic() - begin:.0f} s" if is_new else "there already"
    text = f"{number} packages, {size(place) / 1e9:.2f} GB, {how}: {place}"
    print(f"[{job.backend}] environment {key}: {text}", flush=True)
    return Interpreter(python=str(place / "bin/python"))


def install(job: Environment, listed: Path, place: Path) -> None:
    """Make an environment with the pins in a file. Raises `UserError`."""
    if not job.conda:
        run([UV, "venv", "--python", sys.executable, place])
        options = ["--require-hashes", "--compile-bytecode", "--python", str(place / "bin/python")]
        run([UV, "pip", "install", *options, "--requirements", listed])
        return
    pins = re.findall(r"(?m)^([^\s#].*?)(?: \\)?$", listed.read_text(encoding="utf-8"))
    lines = [*(f"  - {line}" for line in (*job.conda, "pip:")), *(f"      - {pin}" for pin in pins)]
    file = listed.with_name("environment.yaml")
    write_text("\n".join(["channels:", "  - conda-forge", "dependencies:", *lines, ""]), file)
    create = [os.environ.get("CONDA_EXE", "conda"), "env", "create", "--yes", "--quiet"]
    run([*create, "--prefix", place, "--file", file])


def run(line: list[str | Path]) -> str:
    """Run an installer; return what it says. Raises `UserError` for any fault but requirements that cannot be
    met."""
    try:
        done = subprocess.run(line, check=False, text=True, errors="replace", **PIPES)
    except FileNotFoundError:
        raise UserError(f"environments: there is no {line[0]} here; install it") from None
    if done.returncode and UNRESOLVED not in done.stdout:
        fault = f"{' '.join(map(str, line[1:3]))}: {sentence(done.stdout)}"
        raise UserError(f"environments: {line[0]} {fault}; correct that, and run again")
    return done.stdout


def sentence(text: str) -> str:
    """What an installer says of a fault, in one line without addresses."""
    _, is_uv, error = f"\n{text}".rpartition("\nerror: ")  # before it are warnings
    lines = error.strip().splitlines() or [""]
    # Advice follows the errors of conda, and its own those of pip.
    errors = [] if is_uv else re.findall(r"(?m)^(?:ERROR|\w+Error): (.+(?:\n+ +- .+)*)", error)
    fault = lines[0] if is_uv else [lines[-1], *errors][-1]
    said = [" ".join(fault.split()), *re.findall(r"(?m)^ *cause: (.+)$", error)]
    said = [cause for cause in said if UNRESOLVED not in cause]
    return re.sub(r"https?://[^\s`)>]+", "the index", "; ".join(said)).rstrip(".")


def size(folder: Path) -> int:
    """The bytes that a folder takes on the disk; files that are one have one size."""
    entries = [path.lstat() for path in folder.rglob("*")]
    return sum({entry.st_ino: entry.st_blocks * 512 for entry in entries}.values())


if __name__ == "__main__":
    main()
