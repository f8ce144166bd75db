"""Clean checkouts, command lines and specifications, for tests of whole processes."""

import copy
import fcntl
import functools
import itertools
import json
import operator
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import snakemake_server
import yaml
from msgspec.structs import replace

from paragone.base import plugins, processes
from paragone.base.errors import UserError
from paragone.config.decode import decoded
from paragone.config.expand import spec_of
from paragone.config.papers import with_papers
from paragone.config.run_spec import Spec
from paragone.config.schema import Config, MatrixRow

ROOT = Path(__file__).parents[1]


DEFAULTS = yaml.safe_load((ROOT / "config.yaml").read_text())
# The same with what its papers say, after which it names none; and the paper of each experiment's numbers.
CONFIG = copy.deepcopy(DEFAULTS)
PAPERS = {name: paper for paper in with_papers(CONFIG, ROOT) for name in paper.published}
FOLDERS = {name: paper.folder.resolve() for name, paper in PAPERS.items()}
# Their models are found by engines in a test's own process, and in programs that it starts.
plugins.use(CONFIG["plugins"])
CONFIG |= {"papers": [], "plugins": [], "reduced": None}
# The configs of examples/ by folder, and their workloads.
EXAMPLES = {
    path.parent.name: yaml.safe_load(path.read_text())
    for path in sorted(ROOT.glob("examples/*/config.yaml"))
}
OF_EXAMPLES = {name: block for own in EXAMPLES.values() for name, block in own["workloads"].items()}
# (backend, replicas): the backends that train on CPUs.
SEVERAL = ["tensorflow-mirrored", "torch-xla", "jax", "jax-multiprocess", "torch-ddp", "torch-fsdp"]
CELLS = [("torch", 1), *((name, 2) for name in (*SEVERAL, "tensorflow-multiworker"))]
# For tests that compile: skips seconds in which processes that import torch try vector instruction sets.
INDUCTOR = {"TORCHINDUCTOR_VEC_ISA_OK": "1"}
UNREACHABLE = "http://127.0.0.1:9"  # the discard port: connections are refused at once
# What keeps a test short and decides nothing of what it shows.
PRODUCTS = {"backends": ["torch"], "products": [], "squares": [64], "precisions": ["float32"]}
BRIEF = {"data": {"mirrors": []}, "matmul": PRODUCTS | {"repeats": 2}}


def config_of(config: dict[str, Any] = CONFIG) -> Config:
    """A config as its type; what it names may be absent."""
    return decoded(config, Config)


WITH_EXAMPLES = config_of(CONFIG | {"workloads": CONFIG["workloads"] | OF_EXAMPLES})


def preset(name: str) -> dict[str, Any]:
    """The content of presets/<name>.yaml."""
    return yaml.safe_load((ROOT / f"presets/{name}.yaml").read_text())


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts by the path of their file in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@dataclass(frozen=True)
class Arrays:
    """A serialized data set: its manifest, and the data folder that the manifest is relative to."""

    manifest: Path
    folder: Path

    @property
    def source(self) -> str:
        """Whether they are "real" or "synthetic"."""
        return json.loads(self.manifest.read_text())["source"]


def small_copy(arrays: Arrays, to: Path, **counts: int) -> Arrays:
    """The first examples of each split as a data set of its own; counts: examples by split."""
    manifest = json.loads(arrays.manifest.read_text())
    source = arrays.folder / manifest["folder"]
    target = to / "data" / manifest["folder"]
    target.mkdir(parents=True)
    for name, entry in manifest["arrays"].items():
        values = np.load(source / entry["file"])[: counts[name.split("_")[0]]]
        np.save(target / entry["file"], values)
        entry |= {"shape": values.shape, "bytes": (target / entry["file"]).stat().st_size}
    (to / "manifest.json").write_text(json.dumps(manifest))
    return Arrays(to / "manifest.json", to / "data")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills, once for all processes and sessions that share PARAGONE_TEST_DATA.

    tests/run.sh sets it. Without it: once per session, however many processes share its tests.
    """
    base = factory.getbasetemp()
    if "PARAGONE_TEST_DATA" in os.environ:
        base = Path(os.environ["PARAGONE_TEST_DATA"])
    elif "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = base / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(folder)
    return folder


def make_spec(
    workload: str, backend: str, replicas: int = 1, global_batch: int = 64, **changes: Any
) -> Spec:
    """The specification that config.yaml or an example gives for one cell; `changes` replace its fields."""
    cell = MatrixRow(backend=backend, replicas=replicas, global_batch=global_batch)
    return replace(spec_of(WITH_EXAMPLES, workload, cell, "a test"), **changes)


def changed(
    spec: Spec, workload: dict | None = None, backend: dict | None = None, **fields: Any
) -> Spec:
    """A specification with other keys of its workload and backend, as the config has them, or fields."""
    data = msgspec.to_builtins(spec)
    data["workload"] |= workload or {}
    data["backend"] |= backend or {}
    return replace(msgspec.convert(data, Spec), **fields)


def put(document: Any, path: str, value: object) -> None:
    """Set what a path of keys and indices leads to, such as `epochs.0.steps`; `...` removes it."""
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    at = functools.reduce(operator.getitem, parents, document)
    if value is ...:
        del at[last]
    else:
        at[last] = value


def environment(**changes: str) -> dict[str, str]:
    """This process's environment with its own Python first, and `changes`.

    Tuning variables are left out: importing scikit-learn, as Keras does, sets some.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tuning = processes.tuning_variables()
    usual = {name: value for name, value in os.environ.items() if name not in tuning}
    return usual | {"PATH": path} | changes


_JOBS = tempfile.TemporaryDirectory(prefix="paragone-jobs-")


def job(**keys: object) -> list[str]:
    """The arguments of a program: a new file with its job, of which `keys` are the keys."""
    handle, path = tempfile.mkstemp(".json", dir=_JOBS.name)
    with open(handle, "wb") as file:
        file.write(msgspec.json.encode(keys, enc_hook=str))
    return [path]


def command(program: str, **keys: object) -> list[str]:
    """The command line of scripts/<program>.py with a job."""
    return [sys.executable, str(ROOT / "scripts" / f"{program}.py"), *job(**keys)]


def call(
    line: list, timeout: float = 180, cwd: Any = None, preexec_fn: Any = None, **variables: str
) -> subprocess.CompletedProcess:
    """Run a command to its end, with changes of its environment; `cwd`, `preexec_fn`: those of `Popen`."""
    options = {"cwd": cwd, "preexec_fn": preexec_fn, "timeout": timeout}
    return subprocess.run(
        line, env=environment(**variables), capture_output=True, text=True, check=False, **options
    )


def succeed(line: list, timeout: float = 180, **options: Any) -> str:
    """Run a command that must succeed, and return its standard output; `options` are those of `call`."""
    done = call(line, timeout, **options)
    assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_python(program: str, *arguments: object, **options: Any) -> str:
    """Run a Python program that finds the modules of scripts/, as `succeed` does."""
    line = [sys.executable, "-c", program, *map(str, arguments)]
    return succeed(line, **{"PYTHONPATH": str(ROOT / "scripts")} | options)


def waiting(program: str, *arguments: object, **variables: str) -> subprocess.Popen:
    """A Python program that finds the modules of scripts/, as it runs, with pipes of text."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment(PYTHONPATH=str(ROOT / "scripts"), **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def error_in(text: str) -> str:
    """The only line `error: ...` of what a program printed."""
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, text
    return errors[0]


def refused(done: subprocess.CompletedProcess, *words: str) -> None:
    """Assert status 1, a single line `error: ...` that holds all `words`, and no traceback."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [word for word in words if word not in error_in(done.stderr)] == []


@contextmanager
def refusing(*words: str) -> Iterator[None]:
    """Assert that the block raises a message to the user, of one line that holds all `words`."""
    with pytest.raises(UserError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == [], message


def train_command(
    spec: Spec, arrays: Arrays, folder: Path, program: str = "train", **options: object
) -> list[str]:
    """The command that trains `spec`; everything it writes is in `folder`.

    program: "train", the worker itself, or "launch", which starts it.
    """
    keys = {
        "spec": spec,
        "manifest": arrays.manifest,
        "data_folder": arrays.folder,
        "checkpoints": folder / "checkpoints",
        "threads": 2,
        "record": folder / "record.json",
        "predictions": folder / "predictions.npz",
    }
    return command(program, **keys | options)


@contextmanager
def memory_limited(limit: int) -> Iterator[None]:
    """Let processes that are started in the block allocate at most `limit` bytes; they inherit the limit."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def wait_for(happened: Callable[[], Any], process: subprocess.Popen) -> Any:
    """The first true result of `happened`; fails if `process` ends or two minutes are over first."""
    end = time.monotonic() + 120
    while not (result := happened()):
        assert process.poll() is None, "the process ended too early"
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return result


class Checkout:
    """A copy of all files that git does not ignore, so that edits never reach the real tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        line = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = succeed(line, cwd=ROOT).split("\0")
        self.files = [name for name in names if (ROOT / name).is_file()]
        for name in self.files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
        self.config = copy.deepcopy(CONFIG)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def configure(self) -> None:
        """Write `config`; the first experiment becomes primary if the primary one is gone."""
        experiments, primary = self.config["experiments"], self.config["primary"]
        if primary["experiment"] not in experiments:
            primary["experiment"] = next(iter(experiments))
        (self / "config.yaml").write_text(yaml.safe_dump(self.config, sort_keys=False))

    def only(
        self, experiment: str, backends: list[str], workload: dict | None = None, **changes: Any
    ) -> None:
        """Keep one experiment: one run of one replica per backend; `workload`, `changes`: keys to replace.

        No contests are held; one small matrix product is left.
        """
        block = self.config["experiments"][experiment]
        cell = {"backend": backends, "replicas": 1, "global_batch": 100}
        block |= {"matrix": [cell], "repeats": 1, "contests": 0, **changes}
        self.config["experiments"] = {experiment: block}
        self.config["workloads"][block["workload"]] |= workload or {}
        self.config["matmul"] |= BRIEF["matmul"]
        self.configure()

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen:
        """Start snakemake in a session of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.folder,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def snakemake(
        self, *arguments: str, status: int = 0, timeout: float = 600, **variables: str
    ) -> str:
        """Run snakemake, which must end with this status; what it printed.

        After `timeout` its whole session is killed.
        """
        process = self.start(*arguments, **variables)
        try:
            output, _ = process.communicate(timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        assert process.returncode == status, output
        return output

    def jobs(self, *arguments: str, **variables: str) -> dict[str, int]:
        """The number of jobs of each rule that a call would run."""
        return jobs([*arguments], self.folder, **variables)


@contextmanager
def edited(path: Path, edit: Callable[[str], str]) -> Iterator[None]:
    """Change a file for the length of a `with` block; then it has its content and its times again."""
    before, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    text = before.decode(errors="surrogateescape")
    assert edit(text) != text, f"the edit changes nothing in {path}"
    path.write_bytes(edit(text).encode(errors="surrogateescape"))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=times)


def snakemake(line: list, folder: Path, status: int = 0, **variables: str) -> str:
    """What a short call of snakemake in a folder printed; it must end with this status."""
    done = snakemake_server.call([*map(str, line)], folder, environment(**variables))
    assert done.returncode == status, done.stdout
    return done.stdout


def refused_by_workflow(printed: str, *words: str) -> None:
    """Assert that snakemake printed one error of the workflow, with all `words` and no traceback."""
    assert "Traceback" not in printed
    assert printed.count("WorkflowError in ") == 1, printed
    assert [word for word in words if word not in printed] == [], printed


def dry_run(line: list, folder: Path, **options: Any) -> str:
    """What a dry run of snakemake printed; `options` are those of `snakemake`."""
    return snakemake([*line, "--dry-run", "--quiet", "rules"], folder, **options)


def jobs(line: list, folder: Path, **variables: str) -> dict[str, int]:
    """The number of jobs of each rule that a call of snakemake in a folder would run."""
    return job_stats(dry_run(line, folder, **variables))


def job_stats(output: str) -> dict[str, int]:
    """The table "Job stats" that snakemake prints, without its total; {} when there is none."""
    lines = output.partition("Job stats:\n")[2].splitlines()[2:]
    rows = [line.split() for line in itertools.takewhile(str.strip, lines)]
    return {rule: int(count) for rule, count in rows if rule != "total"}
