"""Calls of Snakemake: two on one folder at once, and one with texts that would do harm in a shell."""

import os
import time

import pytest
from workspace import Checkout

from paragone.reporting.answers import read

EXPERIMENT = "xla_fashion_cnn"
TABLE = f"results/tables/{EXPERIMENT}/runs.parquet"


@pytest.fixture
def made(fashion, checkout) -> Checkout:
    """A checkout that uses the arrays of Fashion-MNIST that are there."""
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    return made


@pytest.mark.injects("two calls on one results folder at once")
def test_of_two_calls_one_is_refused(made):
    made.only(EXPERIMENT, ["torch"], epochs=1, steps_per_epoch=2, repeats=2)
    first = made.start(TABLE, "--cores", "2")
    while not list(made.folder.glob("results/logs/**/*")):
        assert first.poll() is None
        time.sleep(0.1)
    second = made.snakemake(TABLE, "--cores", "2", status=1)
    assert f"process {first.pid} on {os.uname().nodename} writes these results" in second
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output


@pytest.mark.injects("texts of a config that would do harm in a shell")
def test_no_text_of_a_config_is_run_by_a_shell(made):
    harm = made.folder / "harm"
    text = f"$(touch {harm}) `touch {harm}`; touch {harm} ' touch {harm} ' \" \\ & touch {harm} & é"
    made.config["experiments"][EXPERIMENT]["title"] = text
    made.config["backends"]["torch"]["label"] = text
    made.only(EXPERIMENT, ["torch"], {"steps_per_epoch": 2}, epochs=1, steps_per_epoch=2)
    made.snakemake("all", "paper", "--cores", "2")
    assert not harm.exists()
    sections = read(made.folder / "results/answers.json")
    assert text in {run.title for section in sections for run in section.published}
