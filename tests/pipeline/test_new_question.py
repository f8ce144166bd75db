"""`make new`: what it writes runs as it is, by the commands that it prints, and so does its test."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from test_own_folder import BRIEF
from workspace import Checkout, environment, refused

from paragone.records import record


def new(checkout: Checkout, name: str, folder: Path) -> subprocess.CompletedProcess:
    """Call the program as `make new NAME=<name>` does, in a folder."""
    line = ["python", str(checkout / "scripts/new.py"), name]
    return subprocess.run(
        line, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def printed(done: subprocess.CompletedProcess) -> list[str]:
    """The commands that are printed, without `cd` and `source`, which a test does itself."""
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert lines[0].startswith("cd ")
    return [line for line in lines if line.split()[0] not in ("cd", "source")]


@pytest.mark.parametrize(
    "trained",
    [
        pytest.param(False, marks=pytest.mark.full),  # its own test has the gate and a run of each
        pytest.param(True, marks=pytest.mark.nightly),
    ],
)
def test_what_it_writes_runs_by_what_it_prints(tmp_path, trained):
    """From a folder whose name needs quotes, beside the checkout."""
    checkout = Checkout(tmp_path / "the checkout")
    data, train, test = printed(new(checkout, "own work/discs_or_crosses", tmp_path))
    folder = tmp_path / "own work/discs_or_crosses"
    brief = BRIEF | {"experiments": {"discs_or_crosses": {"repeats": 1}}}
    (folder / "brief.yaml").write_text(yaml.safe_dump(brief))
    for line in (data, f"{train} brief.yaml {'' if trained else '--dry-run'}", test):
        done = subprocess.run(
            shlex.split(line),
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert "1 passed" in done.stdout
    if trained:
        made = [record.read(path) for path in folder.glob("results/runs/*/record.json")]
        assert {one.spec.backend["name"] for one in made} == {"torch", "jax"}
        # Three classes: the majority has 0.34. Ten epochs of 600 examples learn them.
        assert min(one.epochs[-1].test_accuracy for one in made) > 0.9
        assert (folder / "results/index.html").is_file()


@pytest.fixture
def here(checkout, tmp_path) -> Checkout:
    """A checkout; its sibling `taken` exists."""
    (tmp_path / "taken").mkdir()
    return checkout()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("taken", ["taken exists", "choose another NAME"]),
        ("", ["NAME: ", "make new NAME=my_question"]),
        ("My-Question", ["NAME: 'My-Question'", "lower-case"]),
        ("one_device", ["NAME: the project has 'one_device' itself"]),
        ("wide_resnet", ["NAME: the project has 'wide_resnet' itself"]),
    ],
)
def test_it_refuses(here, tmp_path, name, words):
    before = sorted(tmp_path.iterdir())
    refused(new(here, name, tmp_path), *words)
    assert sorted(tmp_path.iterdir()) == before


def test_inside_the_checkout_and_below_a_link(here, tmp_path):
    """The printed path of the Snakefile leads there from the folder, which was made with those above it."""
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far/away")
    for name, at in (("mine", here.folder), ("link/a/mine", tmp_path)):
        _, train, _ = printed(new(here, name, at))
        snakefile = shlex.split(train)[2]
        assert (at / name / snakefile).resolve() == here / "Snakefile"
