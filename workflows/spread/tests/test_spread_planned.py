"""The spread of papers: which runs, at which protocol, and where it is written."""

import pytest
from workspace import CONFIG, Checkout, config_of, dry_run, job_stats

from paragone.base.errors import UserError
from spread_config import SEEDS, spread_config, what_it_takes

SNAKEFILE = "workflows/spread/Snakefile"
PAPERS = ["tensorflow-handbook-tpu", "tensorflow-distribute-notes"]


def test_it_has_what_is_judged_at_the_published_protocol():
    config, papers = spread_config({"papers": PAPERS})
    assert [paper.name for paper in papers.values()] == PAPERS
    rows = [row for block in config["experiments"].values() for row in block["matrix"]]
    assert {(row["workload"], row["global_batch"]) for row in rows} == {
        ("fashion-conv", 1000),
        ("fashion-conv-128-elu", 1000),
        ("reuters-cnn", 32),
        ("reuters-cnn-double-softmax", 32),
        ("reuters-cnn-keras-2", 32),
    }
    assert {(row["backend"], row["replicas"]) for row in rows} == {("torch", 1)}
    assert config["experiments"]["spread_tensorflow_handbook_tpu"]["repeats"] == SEEDS
    sentences = what_it_takes(config_of(CONFIG | {"experiments": config["experiments"]}))
    assert "20 runs of fashion-conv on torch, 5 epochs each" in sentences[0]


def test_a_bound_has_a_spread_and_seconds_have_none():
    config, _ = spread_config({"papers": ["pytorch-xla-colab"], "seeds": 6})
    (block,) = config["experiments"].values()
    assert (block["repeats"], block["matrix"][0]["global_batch"]) == (6, 1024)
    with pytest.raises(UserError, match="none states a loss or an accuracy"):
        spread_config({"papers": ["nvidia-batch-size-lab"]})


def test_it_trains_and_writes_into_the_folder_and_says_so_first(checkout):
    made: Checkout = checkout()
    line = ["--snakefile", SNAKEFILE, "--cores", "2", "--config", f"papers=[{PAPERS[0]}]"]
    (made / f"papers/{PAPERS[0]}/spread.csv").unlink()
    printed = dry_run(line, made.folder)
    assert "notice: Spread over seeds: tensorflow-handbook-tpu: 20 runs" in printed
    found = job_stats(printed)
    assert found["train"] == 2 * SEEDS
    assert found["draw_spread_tensorflow_handbook_tpu"] == 1
    assert found["spread"] == 1


def test_a_committed_spread_is_measured_again(checkout):
    made: Checkout = checkout()
    line = ["--snakefile", SNAKEFILE, "--cores", "2", "--config", f"papers=[{PAPERS[0]}]"]
    assert (made / f"papers/{PAPERS[0]}/spread.csv").is_file()
    assert job_stats(dry_run(line, made.folder))["train"] == 2 * SEEDS
