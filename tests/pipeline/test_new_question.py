"""`make new`: what it writes runs as it is, by the commands that it prints, and so does its test."""

import csv
import shlex

import pytest
import yaml
from own_folder import BRIEF
from workspace import Checkout, call, command, refused, succeed

pytestmark = pytest.mark.full


def test_what_it_writes_runs_by_what_it_prints(tmp_path):
    """From a folder whose name needs quotes. Its own test has the gate and a run of each backend."""
    checkout = Checkout(tmp_path / "the checkout")
    line = ["python", str(checkout / "scripts/new.py"), "own work/discs_or_crosses"]
    printed = succeed(line, cwd=tmp_path).splitlines()
    commands = [line.strip() for line in printed if line.startswith("  ")]
    assert commands[0].startswith("cd ")  # which the test does itself, as it does `source`
    data, train, test = (line for line in commands if line.split()[0] not in ("cd", "source"))
    folder = tmp_path / "own work/discs_or_crosses"
    (folder / "brief.yaml").write_text(yaml.safe_dump(BRIEF))
    for line in (data, f"{train} brief.yaml --dry-run", test):
        text = succeed(shlex.split(line), timeout=600, cwd=folder)
    assert "1 passed" in text
    snakefile = shlex.split(train)[2]
    assert (folder / snakefile).resolve() == checkout / "Snakefile"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("taken", ["taken exists", "choose another NAME"]),
        ("My-Question", ["My-Question'", "lower-case", "make new NAME=my_question"]),
        ("one_device", ["NAME: the project has 'one_device' itself"]),
    ],
)
def test_it_refuses(tmp_path, name, words):
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.iterdir())
    refused(call([*command("new"), str(tmp_path / name)]), *words)
    assert sorted(tmp_path.iterdir()) == before


def test_a_paper_runs_by_what_it_prints(tmp_path):
    """With its comparison; cut to one seed."""
    checkout = Checkout(tmp_path / "the checkout")
    line = ["python", str(checkout / "scripts/new.py"), "--paper", "own work/my_paper"]
    printed = succeed(line, cwd=tmp_path).splitlines()
    commands = [line.strip() for line in printed if line.startswith("  ")]
    data, train = (line for line in commands if line.split()[0] not in ("cd", "source"))
    folder = tmp_path / "own work/my_paper"
    brief = dict(BRIEF)
    brief["experiments"] = {
        "my_paper": {"repeats": 1, "matrix": [{"backend": "torch", "replicas": 1}]}
    }
    (folder / "brief.yaml").write_text(yaml.safe_dump(brief))
    for line in (
        data,
        f"{train.replace(' all ', ' results/tables/my_paper/comparison.csv ')} brief.yaml",
    ):
        succeed(shlex.split(line), timeout=600, cwd=folder)
    with (folder / "results/tables/my_paper/comparison.csv").open(newline="") as file:
        verdicts = {(row["metric"], row["verdict"]) for row in csv.DictReader(file)}
    assert ("test_accuracy", "not comparable") in verdicts  # three runs would tell how they vary
    assert ("training_time", "not comparable") in verdicts
