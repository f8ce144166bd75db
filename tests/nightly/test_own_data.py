"""The examples of docs/data.md, arrays, images and texts, and of diabetes/, learned on three frameworks."""

import pandas as pd
import pytest
from documents import example
from own_folder import Own, of_page, own
from workspace import ROOT

from paragone.records.run_metrics import outcomes


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Own:
    """The example as the page has it."""
    lines = of_page(ROOT / "docs/data.md")
    return own(tmp_path_factory.mktemp("three"), example("three_forms"), lines, {})


@pytest.mark.parametrize("name", ["digits", "drawings", "docstrings"])
def test_arrays_images_and_texts_of_a_user_on_three_frameworks(three, name):
    """In parity, at the frameworks' first steps as well, and at least 0.1 above the majority rate."""
    verdicts = three.verdicts(f"three-{name}")
    assert {*verdicts} == {"torch", "tensorflow-mirrored", "jax"}
    assert [verdict["reason"] for verdict in verdicts.values()] == [None] * 3
    assert all(verdict["passed"] for verdict in verdicts.values())
    made = [each for each in three.records() if each.spec.workload.dataset == name]
    assert {each.spec.backend.name for each in made} == {*verdicts}
    assert {(each.status, each.first_steps.passed) for each in made} == {("completed", True)}
    for each in made:
        assert each.data.source == "real"
        assert each.epochs[-1].test_accuracy > each.data.test_majority + 0.1
    assert three.added_to_the_checkout() == []


def test_a_regression_is_in_parity_recorded_compared_and_drawn(tmp_path):
    """examples/diabetes/: a table with a target that is a number, learned on three frameworks."""
    name = "diabetes"
    line = f"snakemake -s ../paragone/Snakefile all --cores 2 --configfile {name}.yaml"
    brief = {"experiments": {"progress": {"repeats": 1}}}
    made = own(tmp_path, example(name), [f"python make_{name}.py", line], brief)
    reasons = {backend: each["reason"] for backend, each in made.verdicts(name).items()}
    assert reasons == dict.fromkeys(("torch", "tensorflow-mirrored", "jax"))
    records = made.records()
    assert {(each.status, each.first_steps.passed) for each in records} == {("completed", True)}
    ends = [outcomes(each, each.epochs[-1]) for each in records]
    assert [0.4 < end["test_r2"] < 0.7 for end in ends] == [True] * 3
    assert max(end["test_mae"] for end in ends) - min(end["test_mae"] for end in ends) < 0.5
    drawn = pd.read_csv(made.results / "figures/progress/learning_curves.csv")
    assert {*drawn["metric"]} == {"train_loss", "test_r2"}
    table = pd.read_csv(made.results / "tables/progress/differences.csv")
    assert "test R²" in {*table["metric"]}
    assert "test accuracy" not in {*table["metric"]}
