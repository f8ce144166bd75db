"""The examples of a folder of one's own: made and run as the documents say, beside a checkout."""

import importlib.util
import json
import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import snakemake_server
import yaml
from documents import commands, files
from workspace import ROOT, Checkout, environment, job_stats

from paragone.records import record

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None,
    reason="needs scikit-learn's digits: `make test-all` installs envs/dev.txt",
)

# What keeps a test short and decides nothing of what is shown here.
BRIEF = {
    "data": {"mirrors": []},
    "speed_window": {"seconds": 0.2, "limit_seconds": 1},
    "matmul": {
        "backends": ["torch"],
        "products": [],
        "squares": [64],
        "precisions": ["float32"],
        "repeats": 2,
    },
}


@dataclass(frozen=True)
class Own:
    """A user's folder in which a page's example was run; `line`: its last command, without what runs it."""

    checkout: Checkout
    folder: Path
    line: list[str]

    @property
    def results(self) -> Path:
        """Where the results are."""
        return self.folder / "results"

    def records(self) -> list:
        """The valid records."""
        return [record.read(path) for path in sorted(self.results.glob("runs/*/record.json"))]

    def verdicts(self, workload: str) -> dict[str, dict]:
        """The parity gate's verdict on each backend."""
        return json.loads((self.results / f"parity/{workload}.json").read_text())["backends"]

    def added_to_the_checkout(self) -> list[Path]:
        """The files of the checkout that were not there before, but for Python's compiled ones."""
        files = (path for path in self.checkout.folder.rglob("*") if path.is_file())
        known = {self.checkout / name for name in self.checkout.files}
        return [path for path in files if path not in known and "__pycache__" not in path.parts]

    def run(self, line: Iterable[str]) -> None:
        """Run snakemake, which must succeed."""
        done = subprocess.run(
            ["snakemake", *line],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def jobs(self) -> dict[str, int]:
        """What the same command would run now."""
        line = [*self.line, "--dry-run", "--quiet", "rules"]
        done = snakemake_server.call(line, self.folder, environment())
        assert done.returncode == 0, done.stdout
        return job_stats(done.stdout)


def own(base: Path, page: Path, brief: dict) -> Own:
    """Write a page's files beside a checkout, and run its commands; `brief`: a config on top of its own."""
    checkout = Checkout(base / "paragone")
    folder = base / "mine"
    for name, content in files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "brief.yaml").write_text(yaml.safe_dump(BRIEF | brief))
    line: list[str] = []
    for command in commands(page):
        if "test_own_folder" in (command.treatment or ""):
            line = [*shlex.split(command.text)]
            if line[0] == "snakemake":
                line += ["brief.yaml"]  # behind --configfile
            done = subprocess.run(
                line, cwd=folder, env=environment(), capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
    return Own(checkout, folder, line[1:])


@pytest.fixture(scope="module")
def question(tmp_path_factory) -> Own:
    """The example of docs/extending.md: one run of each backend, of one epoch."""
    brief = {
        "workloads": {"my-digits": {"epochs": 1}},
        "experiments": {"my_question": {"repeats": 1}},
    }
    return own(tmp_path_factory.mktemp("question"), ROOT / "docs/extending.md", brief)


BACKENDS = {"torch", "tensorflow-mirrored", "jax", "my-numpy"}


@contextmanager
def edited(path: Path) -> Iterator[None]:
    """Change a file's content, but not what it does, for the length of a `with` block."""
    before, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.write_bytes(before + b"# edited\n")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=times)


@pytest.mark.full
def test_a_model_a_backend_and_a_figure_in_a_folder(question):
    """Every backend is in parity and ends; that by hand is in the figure, the table and the answers."""
    verdicts = question.verdicts("my-digits")
    assert {name: one["reason"] for name, one in verdicts.items()} == dict.fromkeys(BACKENDS)
    assert all(one["passed"] for one in verdicts.values())
    assert verdicts["my-numpy"]["deviations"]["updates"] < 1e-12
    made = question.records()
    assert {one.spec.backend["name"] for one in made} == BACKENDS
    assert {one.status for one in made} == {"completed"}
    assert {one.first_steps.passed for one in made} == {True}
    drawn = pd.read_csv(question.results / "figures/my_question/my_figure.csv")
    assert set(drawn["backend"]) == BACKENDS
    # One epoch of 1,437 digits of ten classes. The same examples in the same order: the same accuracy.
    assert drawn["final_test_accuracy"].between(0.5, 1).all()
    assert np.ptp(drawn["final_test_accuracy"]) == 0
    differences = pd.read_csv(question.results / "tables/my_question/differences.csv")
    assert "NumPy by hand" in {*differences["first"], *differences["second"]}
    answers = (question.results / "answers.md").read_text()
    assert "NumPy by hand" in answers
    page = (question.results / "index.html").read_text()
    assert "Test accuracy after the last epoch; a dot per run." in page
    manifest = json.loads((question.results / "data/digits/manifest.json").read_text())
    assert manifest["source"] == "real"
    assert question.added_to_the_checkout() == []


@pytest.mark.full
def test_edits_in_a_folder_rerun_what_they_can_change(question):
    folder = question.folder / "my_folder"
    assert question.jobs() == {}
    with edited(folder / "reporting/figures/my_figure.py"):
        assert question.jobs() == {"plot_my_figure": 1, "page": 1, "all": 1}
    with edited(folder / "engines/my_numpy.py"):
        jobs = question.jobs()
    assert (jobs["train"], jobs["probe_my-numpy"]) == (1, 1)
    assert not {"probe_torch", "probe_jax", "probe_reference", "first_steps", "fetch"} & {*jobs}
    with edited(question.folder / "digits.npz"):
        assert question.jobs()["fetch"] == 1
    with edited(folder / "models/torch.py"):  # the reference's, too, and so first steps
        jobs = question.jobs()
    assert (jobs["probe_torch"], jobs["probe_reference"], jobs["first_steps"]) == (1, 1, 1)
    assert "probe_jax" not in jobs


@pytest.mark.full
def test_a_bug_in_one_framework_is_a_failed_row_and_no_speed(question):
    """The last look at this folder: its model in JAX is another one from here on."""
    model = question.folder / "my_folder/models/jax.py"
    model.write_text(model.read_text().replace("nnx.relu", "nnx.gelu"))
    target = "results/tables/my_question/runs.parquet"
    question.run(target if word == "all" else word for word in question.line)
    verdicts = question.verdicts("my-digits")
    assert {name for name, one in verdicts.items() if not one["passed"]} == {"jax"}
    assert "logits deviate" in verdicts["jax"]["reason"]
    runs = pd.read_parquet(question.folder / target).set_index("backend")
    assert runs["parity"].to_dict() == dict.fromkeys(BACKENDS, "passed") | {"jax": "failed"}
    speeds = runs["steady_examples_per_second"]
    assert set(speeds.index[speeds.isna()]) == {"jax"}


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Own:
    """The example of docs/data.md, as it stands there."""
    return own(tmp_path_factory.mktemp("three"), ROOT / "docs/data.md", {})


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["digits", "drawings", "docstrings"])
def test_arrays_images_and_texts_of_a_user_on_three_frameworks(three, name):
    """In parity, at the frameworks' first steps as well, and learnt: 0.1 above the majority rate at least."""
    verdicts = three.verdicts(f"three-{name}")
    reasons = {backend: verdict["reason"] for backend, verdict in verdicts.items()}
    assert reasons == dict.fromkeys(BACKENDS - {"my-numpy"})
    assert all(verdict["passed"] for verdict in verdicts.values())
    made = [one for one in three.records() if one.spec.workload["dataset"] == name]
    assert {one.spec.backend["name"] for one in made} == {*verdicts}
    assert {(one.status, one.first_steps.passed) for one in made} == {("completed", True)}
    manifest = json.loads((three.results / f"data/{name}/manifest.json").read_text())
    assert manifest["source"] == "real"
    for one in made:
        assert one.epochs[-1].test_accuracy > manifest["majority"]["test"] + 0.1
    assert three.added_to_the_checkout() == []
