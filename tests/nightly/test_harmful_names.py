"""Texts of a config that would do harm in a shell, run as the workflow runs them."""

import pytest

from paragone.reporting.answers import read


@pytest.mark.injects("texts of a config that would do harm in a shell")
def test_no_text_of_a_config_is_run_by_a_shell(fashion, checkout):
    made = checkout()
    harm = made.folder / "harm"
    text = f"$(touch {harm}) `touch {harm}`; touch {harm} ' touch {harm} ' \" \\ & touch {harm} & é"
    made.config["data"]["folder"] = str(fashion.folder)
    made.config["experiments"]["xla_fashion_cnn"]["title"] = text
    made.config["backends"]["torch"]["label"] = text
    made.only("xla_fashion_cnn", ["torch"], {"steps_per_epoch": 2}, epochs=1, steps_per_epoch=2)
    done = made.snakemake("all", "paper", "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert not harm.exists()
    sections = read(made.folder / "results/answers.json")
    assert text in {run.title for section in sections for run in section.published}
