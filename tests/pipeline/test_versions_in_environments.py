"""Releases of a package in one question, in environments that the workflow makes; one does not exist."""

import json

import pandas as pd
import pytest
from workspace import Checkout, jobs

from paragone.records import record

pytestmark = pytest.mark.full

EXPERIMENT = "tpu_fashion_conv"
VERSIONS = {"jax.optax-0.2.5": "0.2.5", "jax.optax-0.2.6": "0.2.6", "jax.optax-99.0": "99.0"}
LABELS = [f"JAX SPMD with optax {version}" for version in VERSIONS.values()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """The finished one, with what Snakemake printed in its file `printed`."""
    made = Checkout(tmp_path_factory.mktemp("versions"))
    made.config["data"]["source"] = "synthetic"
    made.config["contest"] |= {"rounds": 2, "window_seconds": 0.1, "load": 1}
    made.only(EXPERIMENT, ["jax"], {"steps_per_epoch": 2, "epochs": 2}, epochs=2)
    block = made.config["experiments"][EXPERIMENT]
    versions = [{"optax": version} for version in VERSIONS.values()]
    block |= {"matrix": [block["matrix"][0] | {"versions": versions}], "contests": 1}
    made.configure()
    (made / "printed").write_text(made.snakemake("all", "--cores", "2"))
    return made


def test_each_version_trained_with_its_own_packages(checkout):
    records = [record.read(path) for path in checkout.folder.glob("results/runs/*/record.json")]
    statuses = {made.spec.backend.name: made.status for made in records}
    assert statuses == {**dict.fromkeys(VERSIONS, "completed"), "jax.optax-99.0": "unavailable"}
    for made in records:
        (process,) = made.processes
        if made.status == "completed":
            assert process.software["optax"] == VERSIONS[made.spec.backend.name]
            assert not {"torch", "tensorflow-cpu"} & {*process.software}
        else:
            assert "optax==99.0" in made.reason
            assert "\n" not in made.reason
            assert process.software == {}


def test_they_are_timed_in_one_contest_and_judged_by_the_gate(checkout):
    (path,) = checkout.folder.glob("results/contests/*/record.json")
    (contest,) = record.read_contests(path).contests
    states = {one.spec.backend.name: one.status for one in contest.contestants}
    assert states == {**dict.fromkeys(VERSIONS, "completed"), "jax.optax-99.0": "unavailable"}
    assert {window.contestant for window in contest.windows} == {0, 1}
    report = json.loads((checkout / "results/parity/fashion-conv.json").read_text())
    passed = {name: verdict["passed"] for name, verdict in report["backends"].items()}
    assert passed == {**dict.fromkeys(VERSIONS, True), "jax.optax-99.0": None}


def test_tables_and_answers_name_the_versions(checkout):
    runs = pd.read_csv(checkout / "results/tables/runs.csv")
    assert set(runs["backend"]) == {*VERSIONS}
    answers = (checkout / "results/answers.md").read_text()
    assert [label for label in LABELS if label not in answers] == []
    breaches = pd.read_csv(checkout / f"results/tables/{EXPERIMENT}/compliance.csv")
    assert "requested" not in set(breaches["rule"])


def test_environments_are_made_once_and_said(checkout):
    made = list(checkout.folder.glob(".environments/*/pins.txt"))
    assert len(made) == 2
    printed = (checkout / "printed").read_text()
    assert printed.count(" GB, made in ") == 2
    assert checkout.jobs("all", "--cores", "2") == {}


def test_a_bundle_of_them_is_drawn_with_every_version_apart(checkout, tmp_path):
    checkout.snakemake("--snakefile", "workflows/bundles/Snakefile", "--cores", "2")
    bundle = checkout / "results/bundle.zip"
    line = ["--snakefile", checkout / "workflows/bundles/Snakefile", "all"]
    asked = jobs([*line, "--config", f"bundles=[{bundle}]"], tmp_path)
    assert asked[f"draw_{EXPERIMENT}"] == 1
    assert not {"train", "environment"} & {*asked}
