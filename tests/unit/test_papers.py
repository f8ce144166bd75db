"""Papers: what their folders say, what the config makes of them, and what is refused in one sentence."""

import copy
import shutil

import pytest
from workspace import DEFAULTS, ROOT, refusing

from paragone.config.numbers import Protocol
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


HEADER = "experiment,system,workload,metric,split,epoch,value,spread,runs,bound,decimals,unit\n"


def numbers_of(folder, *lines):
    """The rows of these lines: what follows the workload."""
    text = "".join(f"mine,my laptop,mine,{line}\n" for line in lines)
    (folder / "numbers.csv").write_text(HEADER + text)
    return read_paper(folder).published["mine"]


@pytest.mark.parametrize(
    ("line", "number", "rounding", "limit", "printed"),
    [
        ("accuracy,test,3,99.21,,,,,%", 0.9921, 0.00005, "", "99.21 % (0.9921)"),
        ("error_rate,test,3,0.79,,,,,%", 0.9921, 0.00005, "", "0.79 % error (0.9921)"),
        ("Top-1 error,test,3,0.79,,,upper,3,percent", 0.9921, 0.000005, "lower",
         "under 0.790 percent error (over 0.99210)"),
        ("error,test,3,0.0079,,,,,fraction", 0.9921, 0.00005, "", "0.0079 error (0.9921)"),
        ("error,test,3,0.79,0.05,5,,,%", 0.9921, 0.00005, "", "0.79 ± 0.05 % error (0.9921; mean of 5 runs)"),
        ("accuracy,test,3,0.99,,,about,,", 0.99, 0.01, "", "about 0.99"),
        ("loss,test,3,0.25,,,lower,,nats", 0.25, 0.005, "lower", "over 0.25 nats"),
        ("parameters,,,1200000,,,about,,", 1.2e6, 1e5, "", "about 1200000"),
    ],
)  # fmt: skip
def test_a_number_is_taken_and_shown_as_it_is_printed(mine, line, number, rounding, limit, printed):
    (row,) = numbers_of(mine, line).rows
    assert (row.number, row.limit, row.printed) == (number, limit, printed)
    assert row.rounding == pytest.approx(rounding)
    assert row.metric in ("test_accuracy", "test_loss", "parameters")


def test_a_top5_error_is_an_accuracy_of_a_workload_that_measures_it(mine):
    text, task = (mine / "paper.yaml").read_text(), "task: {name: classification, top5: true}"
    (mine / "paper.yaml").write_text(text.replace("    epochs:", f"    {task}\n    epochs:", 1))
    (row,) = numbers_of(mine, "Top-5 error rate,test,3,8.5,,,,,%").rows
    assert (row.metric, row.number, row.printed) == (
        "test_top5_accuracy",
        0.915,
        "8.5 % error (0.915)",
    )


def test_a_deviation_is_in_the_unit_of_its_number_and_takes_the_count_of_runs(mine):
    (row,) = numbers_of(mine, "error,test,3,0.79,0.05,5,,,%").rows
    assert row.deviation == pytest.approx((0.0005, 0.00005))
    for line, words in (("0.9,0.1,,,,", "`runs`, 2 or more"), ("0.9,x,3,,,", "spread 'x'")):
        with refusing("line 2", words):
            numbers_of(mine, f"accuracy,test,3,{line}")


def test_the_best_epoch_is_of_the_whole_run(mine):
    best, last = numbers_of(mine, "loss,test,best,0.2,,,,,", "loss,test,3,0.3,,,,,").rows
    assert (best.epoch, best.best, best.final) == (3, True, "yes")
    assert (last.epoch, last.best, last.final) == (3, False, "")


def test_a_flaw_is_of_the_rows_that_it_names(mine):
    text = (mine / "paper.yaml").read_text()
    flaw = '{text: Summed twice., metric: train_loss, epochs: [1]}, "It is made up."'
    (mine / "paper.yaml").write_text(text.replace('"It is made up."', flaw))
    rows = [f"loss,{split},{epoch},0.3,,,,," for split in ("train", "test") for epoch in (1, 2)]
    found = numbers_of(mine, *rows)
    assert [row.flaws for row in found.rows] == [("Summed twice.",), (), (), ()]
    assert found.flaws == ["Summed twice.", "It is made up."]
    error_flaw = flaw.replace("train_loss", "test_error")
    (mine / "paper.yaml").write_text(text.replace('"It is made up."', error_flaw))
    (row,) = numbers_of(mine, "error,test,1,8.5,,,,,%").rows
    assert row.flaws == ("Summed twice.",)


def test_where_and_when_a_system_ran_makes_no_other_program(mine):
    text = (mine / "paper.yaml").read_text()
    facts = "{replicas: 1, hardware: Tesla K80, version: Keras 2.1.5, date: 2018-03}"
    (mine / "paper.yaml").write_text(text.replace("{replicas: 1}}", f"{facts}}}"))
    (protocol,) = read_paper(mine).published["mine"].protocols.values()
    assert (protocol.hardware, protocol.version, protocol.date) == (
        "Tesla K80",
        "Keras 2.1.5",
        "2018-03",
    )
    assert protocol.program == Protocol(replicas=1, workload="mine", epochs=3)


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
        ("numbers.csv", "0.9,3", "90,3", ["line 2", "accuracy, 90, is no share, 0 to 1"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "step_time,,,,,2,,min", ["line 3", "'min'", "s, ms"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "error,test,2,,,0.05,,", ["unit '' of error is neither"]),
        ("numbers.csv", "0.25,,nats", "0.25,,bits", ["'bits' of a loss; convert it to nats"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "parameters,,,,,1.2,,million", ["'million' of"]),
        ("numbers.csv", "0.9,3,fraction", "0.9,3,ms", ["line 2", "unit 'ms' of accuracy is neither"]),
        ("numbers.csv", "accuracy,test", "top5_error,test", ["line 2", "top5: true}`, or"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "Err_rate,,2,,,5.5,,%", ["'err_rate' has no split"]),
        ("numbers.csv", "throughput,,,,100", "throughput,,best,,100", ["line 4", "epoch best is of"]),
        ("paper.yaml", '"It is made up."', "{text: Wrong.}", ["flaws.0", "names no rows; add metric"]),
        ("paper.yaml", '"It is made up."', "{text: Bad., epochs: [3], metric: loss}", ["flaws.0", "no such"]),
        ("numbers.csv", "mine,loss,test", "mine,bits_per_character,test", ["none of accuracy, loss"]),
        ("numbers.csv", "accuracy,test", "Top-5 accuracy,test", ["did you mean 'top5_accuracy'"]),
        ("numbers.csv", "accuracy,test", "top5_accuracy,test", ["line 2", "top5: true}`, or"]),
        ("numbers.csv", "mine,loss,test", "mine,loss,", ["line 3", "no split; write train, validation"]),
        ("numbers.csv", "0.25,,nats", "0.25,,nats,", ["line 3", "11 cells"]),
        ("numbers.csv", "test,2,", "test,4,", ["line 3", "epoch 4 of 'my laptop'", "beyond the 3 epochs"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "accuracy,test,3,,,0.25,,", ["also on line 2"]),
        ("numbers.csv", ",,,,200,", ",,,,100,", ["line 5", "throughput of 'my laptop' is also on line 4"]),
        ("numbers.csv", "loss,test,2,,,0.25,,nats", "accuracy,test,2,yes,,0.2,,", ["run is also on"]),
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
