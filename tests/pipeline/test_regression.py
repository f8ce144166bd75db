"""examples/diabetes/: a table with a target that is a number, learned on three frameworks and drawn."""

import json

import pandas as pd
import pytest
import yaml
from documents import example
from own_folder import NEEDS_SCIKIT_LEARN
from workspace import BRIEF, Checkout, succeed, write_files

from paragone.records import record
from paragone.records.run_metrics import outcomes

pytestmark = [pytest.mark.full, NEEDS_SCIKIT_LEARN]
BACKENDS = {"torch", "tensorflow-mirrored", "jax"}


def test_a_regression_is_in_parity_recorded_compared_and_drawn(tmp_path):
    checkout, folder = Checkout(tmp_path / "paragone"), tmp_path / "mine"
    brief = yaml.safe_dump(BRIEF | {"experiments": {"progress": {"repeats": 1}}})
    write_files(folder, {**example("diabetes"), "brief.yaml": brief})
    succeed(["python", "make_diabetes.py"], cwd=folder)
    line = ["snakemake", "-s", str(checkout / "Snakefile"), "all", "--cores", "2"]
    succeed([*line, "--configfile", "diabetes.yaml", "brief.yaml"], timeout=1800, cwd=folder)
    results = folder / "results"
    verdicts = json.loads((results / "parity/diabetes.json").read_text())["backends"]
    assert {name: each["reason"] for name, each in verdicts.items()} == dict.fromkeys(BACKENDS)
    made = [record.read(path) for path in sorted(results.glob("runs/*/record.json"))]
    assert {(each.status, each.first_steps.passed) for each in made} == {("completed", True)}
    ends = [outcomes(each, each.epochs[-1]) for each in made]
    assert [0.4 < end["test_r2"] < 0.7 for end in ends] == [True] * 3
    assert max(end["test_mae"] for end in ends) - min(end["test_mae"] for end in ends) < 0.5
    drawn = pd.read_csv(results / "figures/progress/learning_curves.csv")
    assert {*drawn["metric"]} == {"train_loss", "test_r2"}
    table = pd.read_csv(results / "tables/progress/differences.csv")
    assert "test R²" in {*table["metric"]}
    assert "test accuracy" not in {*table["metric"]}
