"""`make new`: what it writes runs by the commands that it prints, and so does its test; `make help`."""

import csv
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from documents import blocks, commands
from workspace import BRIEF, CONFIG, ROOT, Checkout, call, refused, succeed, write_files

pytestmark = pytest.mark.full
# With the standard library alone.
ALONE = [sys.executable, "-S", str(ROOT / "scripts/new.py")]
TAKEN = {*CONFIG["experiments"], *(name.replace("-", "_") for name in CONFIG["workloads"])}


def written(tmp_path: Path, name: str, *options: str, **brief: object) -> tuple[Path, list[str]]:
    """The folder that the program writes, of a name that needs quotes, and the commands that it prints.

    But for `cd` and `source`, which the test does itself. `brief` is a config on top of its own.
    """
    checkout, folder = Checkout(tmp_path / "the checkout"), tmp_path / "own work" / name
    line = ["python", "-S", str(checkout / "scripts/new.py"), *options, f"own work/{name}"]
    printed = succeed(line, cwd=tmp_path).splitlines()
    write_files(folder, {"brief.yaml": yaml.safe_dump(BRIEF | brief)})
    commands = [line.strip() for line in printed if line.startswith("  ")]
    assert commands[0].startswith("cd ")
    return folder, [line for line in commands if line.split()[0] not in ("cd", "source")]


def test_what_it_writes_runs_by_what_it_prints(tmp_path):
    """The test that it writes passes: it runs the gate and trains on each backend."""
    folder, (data, train, test) = written(tmp_path, "discs_or_crosses")
    for line in (data, f"{train} brief.yaml --dry-run", test):
        text = succeed(shlex.split(line), timeout=600, cwd=folder)
    assert "1 passed" in text
    snakefile = folder / shlex.split(train)[2]
    assert snakefile.resolve() == folder.parents[1] / "the checkout/Snakefile"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("taken", ["taken exists", "choose another NAME"]),
        ("My-Question", ["My-Question'", "lower-case", "make new NAME=my_question"]),
        *((name, [f"NAME: the project has '{name}' itself"]) for name in sorted(TAKEN)),
    ],
)
def test_it_refuses(tmp_path, name, words):
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.iterdir())
    refused(call([*ALONE, str(tmp_path / name)]), *words)
    assert sorted(tmp_path.iterdir()) == before


def test_a_paper_runs_by_what_it_prints(tmp_path):
    """With its comparison; cut to one seed."""
    matrix = [{"backend": "torch", "replicas": 1}]
    cut = {"my_paper": {"repeats": 1, "matrix": matrix}}
    folder, (data, verdict, train) = written(tmp_path, "my_paper", "--paper", experiments=cut)
    for line in (data, f"{train} brief.yaml --dry-run", f"{verdict} brief.yaml"):
        text = succeed(shlex.split(line), timeout=600, cwd=folder)
    assert "\nMy paper: " in text  # the verdict, in a line
    assert not list((folder / "results").glob("matmul/*"))
    with (folder / "results/tables/my_paper/comparison.csv").open(newline="") as file:
        verdicts = {(row["metric"], row["verdict"]) for row in csv.DictReader(file)}
    assert ("test_accuracy", "not comparable") in verdicts  # three runs would tell how they vary
    assert ("training_time", "not comparable") in verdicts


# Of the page's paper: two steps in the place of twenty epochs, which end at another loss than was published.
SHORT = {
    "epochs: 20 ": "epochs: 1\n    steps_per_epoch: 2 ",
    "steps_per_epoch: 469": "steps_per_epoch: 2",
    ",20,yes": ",1,yes",
}


@pytest.mark.usefixtures("mirror")
def test_the_paper_of_the_page_runs(tmp_path):
    """The blocks of docs/extending.md in their files, by the page's commands, to the verdict."""
    folder, _ = written(tmp_path, "my_paper", "--paper")
    page, checkout = ROOT / "docs/extending.md", str(tmp_path / "the checkout")
    begin, _, _ = (folder / "paper.yaml").read_text().partition("\ndatasets:")
    parts = [block for block in blocks(page, "yaml") if re.search("my[-_]paper:", block)]
    (model,) = (block for block in blocks(page, "python") if "dropped-mlp" in block)
    (numbers,) = blocks(page, "csv")
    files = {"paper.yaml": "\n".join([begin, *parts]), "numbers.csv": numbers}
    for old, new in SHORT.items():
        assert old in "".join(files.values())
        files = {name: text.replace(old, new) for name, text in files.items()}
    write_files(folder, files | {"models/torch.py": model})
    for line in [line for line in commands(page) if "run.yaml" in line]:
        words = [word.replace("../paragone", checkout) for word in shlex.split(line)]
        text = succeed([*words, "brief.yaml"], timeout=600, cwd=folder)
    assert "\nKeras' mnist_mlp.py: " in text
    with (folder / "results/tables/my_paper/comparison.csv").open(newline="") as file:
        verdicts = {row["metric"]: row["verdict"] for row in csv.DictReader(file)}
    assert (verdicts["parameters"], verdicts["test_loss"]) == ("holds", "differs")


def test_make_help_lists_every_target():
    database = call(["make", "--print-data-base", "--question", "help"], cwd=ROOT).stdout
    (targets,) = re.findall(r"(?m)^\.PHONY: (.*)", database)
    text = succeed(
        ["make", "--no-print-directory", "help"], cwd=ROOT
    )  # as `make` may call the tests
    listed = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert listed.keys() == {*targets.split()}
    assert all(text.endswith(".") for text in listed.values())
