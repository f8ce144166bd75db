"""Papers: what their folders say, what the config makes of them, and what is refused in one sentence."""

import copy
import shutil

import pytest
from workspace import DEFAULTS, ROOT, refusing

from paragone.config.papers import read_paper, with_papers
from paragone.plan.plan import Plan

MINE = """
title: "A table of mine."
where: "Here."
workloads:
  mine:
    dataset: fashion_mnist
    model: {name: fashion-conv}
    initializer: keras
    input: {divide: 255, mean: 0, std: 1}
    optimizer: {name: sgd, momentum: 0.9}
    learning_rate: {base: 0.1}
    global_batch: 100
    epochs: 3
experiments:
  mine:
    title: "Mine"
    workload: mine
    matrix: [{backend: torch, replicas: 1}]
    figures: []
    tables: [comparison]
numbers:
  mine:
    systems: {my laptop: {replicas: 1}}
    flaws: ["It is made up."]
"""
NUMBERS = """experiment,system,workload,metric,split,epoch,final,global_batch,value,decimals,unit
mine,my laptop,mine,accuracy,test,,yes,,0.9,3,fraction
mine,my laptop,mine,loss,test,2,,,0.25,,nats
mine,my laptop,mine,throughput,,,,100,10,,examples/s
mine,my laptop,mine,throughput,,,,200,15,,examples/s
"""


@pytest.fixture
def mine(tmp_path):
    """A paper's folder outside of the project."""
    folder = tmp_path / "my_paper"
    folder.mkdir()
    (folder / "paper.yaml").write_text(MINE)
    (folder / "numbers.csv").write_text(NUMBERS)
    return folder


def whole(**changes) -> dict:
    """The default config with what its papers say."""
    config = copy.deepcopy(DEFAULTS) | changes
    with_papers(config, ROOT)
    return config


def test_a_number_is_read_with_what_its_system_did(mine):
    found = read_paper(mine).published["mine"]
    accuracy, loss, *_ = found.rows
    assert (accuracy.metric, accuracy.epoch, accuracy.final) == ("test_accuracy", 3, "yes")
    assert (accuracy.printed, accuracy.decimals) == ("0.900", 3)
    assert (loss.printed, loss.decimals, loss.epoch) == ("0.25 nats", 2, 2)


def test_the_config_goes_before_what_is_reduced_and_this_before_the_paper(mine):
    reduced = {"experiments": {"mine": {"repeats": 2, "epochs": 1}}}
    own = DEFAULTS["experiments"] | {"mine": {"epochs": 2}}
    block = whole(papers=[str(mine)], reduced=reduced, experiments=own)["experiments"]["mine"]
    assert (block["title"], block["repeats"], block["epochs"]) == ("Mine", 2, 2)
    assert list(whole(papers=[str(mine)], experiments={})["experiments"]) == ["mine"]


def test_whole_papers_are_not_reduced():
    cut, published = whole(), whole(reduced=None)
    for config, width, epochs in ((cut, 1, 1), (published, 10, 5)):
        assert config["workloads"]["wide-resnet"]["model"]["width"] == width
        assert config["experiments"]["batch_size_throughput"]["epochs"] == epochs


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("paper.yaml", "title:", "titel:", ["'titel' was unexpected; did you mean 'title'"]),
        ("paper.yaml", "momentum: 0.9", "momentum: x", ["workloads.mine.optimizer.momentum"]),
        ("paper.yaml", "    global_batch: 100\n", "", ["workloads.mine", "has no batch size"]),
        ("paper.yaml", "replicas: 1}}", "replica: 1}}", ["numbers.mine.systems.my laptop", "replicas"]),
        ("paper.yaml", "my laptop:", "your laptop:", ["line 2", "'my laptop'", "systems"]),
        ("paper.yaml", "numbers:\n", "numbers:\n  other: {}\n", ["numbers.other", "no row"]),
        ("numbers.csv", ",value,", ",number,", ["'number' was unexpected", "value"]),
        ("numbers.csv", "0.25,,nats", "0.25,1,nats", ["line 3", "more than 1 decimals"]),
        ("numbers.csv", "loss,test", "loss,validation", ["line 3", "mine holds no training examples out"]),
        ("numbers.csv", "0.25,", "?,", ["line 3", "value '?' is no number"]),
        ("numbers.csv", "0.9,3", "90,3", ["line 2", "test_accuracy, 90, is no fraction"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "step_time,,,,,2,,min", ["line 3", "'min'", "s, ms"]),
        ("numbers.csv", "accuracy,test,,yes,,0.9,", "error,test,,yes,,0.05,", ["write accuracy 0.950"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "Err_rate,,2,,,5.5,,%", ["write accuracy 0.945"]),
        ("numbers.csv", "mine,loss,test", "mine,bits_per_character,test", ["none of accuracy, loss"]),
        ("numbers.csv", "accuracy,test", "top5_accuracy,test", ["line 2", "leave the row out"]),
        ("numbers.csv", "mine,loss,test", "mine,loss,", ["line 3", "no split; write train, validation"]),
        ("numbers.csv", "0.25,,nats", "0.25,,nats,", ["line 3", "11 cells"]),
        ("numbers.csv", "test,2,", "test,two,", ["line 3", "epoch 'two' is no whole number"]),
        ("numbers.csv", "mine,my laptop,mine,loss", "mine,my laptop,,loss", ["line 3", "another workload"]),
        ("numbers.csv", "mine,my laptop,mine,loss", "yours,my laptop,mine,loss", ["line 3", "'yours'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_file(mine, file, old, new, words):
    text = (mine / file).read_text()
    assert old in text
    (mine / file).write_text(text.replace(old, new, 1))
    with refusing(str(mine), *words):
        read_paper(mine)


def test_what_does_not_fit_the_config_is_named(mine):
    def refused(*words: str, **changes) -> None:
        with refusing(*words):
            whole(**changes)

    refused("papers: 'nobody' is no folder", "pytorch-xla-colab", papers=["nobody"])
    refused("papers.0", papers=[5])
    refused("reduced.experiments.nothing", reduced={"experiments": {"nothing": {}}})
    twin = shutil.copytree(mine, mine.parent / "twin")
    refused("workloads.mine", "twin", papers=[str(mine), str(twin)])


def test_numbers_of_no_paper_are_named(mine):
    config = whole(papers=[str(mine)])
    config["experiments"]["mine"]["published"] = "no"
    with refusing("published of mine: no paper has numbers of 'no'"):
        Plan(config, ROOT)
