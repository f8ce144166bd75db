"""Published numbers: their files, the runs that they are compared with, and every verdict by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from judge_rows import (
    MARGINS,
    REUTERS,
    judge,
    of,
    row_of,
    spreads_of,
    tabulated,
    with_accuracy,
)
from make_experiments import reuters
from make_records import LABELS, make_record, of_backend, speed, typed, validated, waited
from msgspec import structs

from paragone.analysis import prediction, verdicts
from paragone.analysis.columns import machine_label
from paragone.analysis.grouping import sweeps_of
from paragone.analysis.prediction import (
    AT_CHANCE,
    CONSISTENT,
    DIFFERS,
    HOLDS,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    Claim,
    Judgement,
)
from paragone.analysis.verdicts import PublishedRun
from paragone.config.schema import Margin

CONV, CNN, MIRRORED = "tpu_fashion_conv", "xla_fashion_cnn", "mirrored_mobilenet"
SIZES = "batch_size_throughput"
# Five runs: standard deviation 0.0015811, t(4) = 2.776445.
SPREAD = spreads_of(with_accuracy([0.884, 0.885, 0.886, 0.887, 0.888]))
LONG_CNN = {"workload": "fashion-cnn", "replicas": 8, "global_batch": 1024}
LONG_CNN |= {"epochs": 50, "steps_per_epoch": None}


def accuracy(values, spreads=SPREAD, **options):
    """The finding on the final test accuracy, 0.8848, of runs that end in `values`."""
    row = row_of(CONV, "test_accuracy")
    return judge(row, of(CONV, spreads)[1], with_accuracy(values, **options))


# Losses and accuracies


def test_what_holds_by_hand():
    """Seeds 0 and 1 are measured again: 0.884, 0.886, 0.886, 0.887, 0.888, deviation 0.0014832."""
    found = accuracy([0.884, 0.886])
    assert found.verdict == HOLDS
    assert (found.measured.value, found.measured.n) == (pytest.approx(0.885), 2)
    half = 2.776445 * 0.0014832 * 1.2**0.5
    assert found.measured.low == pytest.approx(0.8862 - half, abs=1e-6)
    assert found.judgement.claim.rounding == pytest.approx(0.00005)
    assert found.caveats == (("replicas", 1, 1000, 8, 125),)


@pytest.mark.parametrize(
    ("metric", "majority", "margin"),
    [
        ("test_accuracy", 0.1, 0.02 * 0.9),
        ("test_accuracy", 0.36, 0.02 * 0.64),
        ("test_loss", 0.1, 0.2 * 0.3893),
        ("test_loss", 0.25, 0.05 * (1.386294 - 0.51)),  # ours is further from guessing
        ("test_loss", 0.7, 0.0),  # guessing costs 0.3567
    ],
)
def test_margins_are_shares_of_what_can_be_learned_or_of_the_error(metric, majority, margin):
    made = with_accuracy([0.884, 0.885, 0.886])
    for one in made:
        one["data"]["test_majority"] = majority
        one["epochs"][-1]["test_loss"] = 0.51
    found = judge(row_of(CONV, metric, 5), of(CONV)[1], made)
    assert found.judgement.claim.margin == pytest.approx(margin, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "theirs", "ours"),
    [
        ("train_loss", "0.0176", 0.029),
        ("train_loss", "0.029", 0.0176),
        ("test_accuracy", "0.99", 0.985),
    ],
)
def test_near_zero_error_a_margin_is_a_share_of_the_error(metric, theirs, ours):
    """A loss of 1.6 times the other one, and half as many errors again, do not hold."""
    made = with_accuracy([ours] * 3)
    for seed, one in enumerate(made):
        one["epochs"][-1] |= {"train_loss": ours + 1e-5 * seed, "train_accuracy": 0.99}
    row = structs.replace(row_of(CONV, metric, 5), value=theirs)
    found = judge(row, of(CONV)[1], made)
    assert found.verdict == DIFFERS
    assert not found.judgement.is_equal


@pytest.mark.parametrize(
    ("metric", "theirs", "ours", "guessed", "margin"),
    [
        ("test_perplexity", 6.55, 6.65, 27.4, 6.55 * 0.05 * math.log(27.4 / 6.55)),
        ("test_perplexity", 1.02, 1.03, 27.4, 1.02 * 0.2 * math.log(1.02)),
        ("test_r2", 0.6, 0.7, 0.0, 0.05 * 1),
        ("test_r2", 0.96, 0.98, 0.0, 0.2 * 0.02),
        ("test_mae", 3.0, 4.0, 10.0, 0.05 * 6),
        ("test_mae", 0.3, 0.4, 10.0, 0.2 * 0.3),
    ],
)
def test_margins_of_other_metrics_are_those_of_the_lesser_error(
    metric, theirs, ours, guessed, margin
):
    number = Judgement(Claim(theirs, metric=metric), center=ours)
    found = verdicts.with_margin(number, guessed, Margin(share=0.05, error=0.2))
    assert found.claim.margin == pytest.approx(margin)


def test_a_final_number_is_shown_with_the_interval_that_judges_it():
    """It is adjusted for the numbers of its run: wider than that of the number alone."""
    rows, evidence = of(CONV)
    made = with_accuracy([0.884, 0.885, 0.886])
    final = [line for line in compared(rows, evidence, made).lines if line.family == "final"]
    for line in final:
        shown, one = line.findings[line.judge].measured, line.finding.judgement
        assert (shown.low, shown.high) == (one.low, one.high)
    alone = [judge(line.row, evidence, made).measured.low for line in final]
    assert any(line.finding.measured.low < low for line, low in zip(final, alone, strict=True))


def test_without_a_spread_of_the_protocol_it_takes_three_runs():
    others = [{"steps_per_epoch": 30}, {"epochs": 4}]
    for spreads in ({}, *(spreads_of(with_accuracy([0.884, 0.885], **each)) for each in others)):
        found = accuracy([0.884, 0.886], spreads)
        assert (found.verdict, found.reasons) == (NOT_COMPARABLE, (("few_runs", 3),))
    found = accuracy([0.884, 0.885, 0.886], {})
    assert found.verdict == HOLDS
    assert found.judgement.half_width == pytest.approx(4.302653 * 0.001 * (4 / 3) ** 0.5, 1e-4)


@pytest.mark.parametrize(("split", "majority"), [("train", 0.97), ("test", 0.884)])
def test_what_learned_nothing_agrees_with_nothing(split, majority):
    """Neither ours nor the published one, in its losses neither."""
    rows, evidence = of(CONV, SPREAD)
    made = with_accuracy([0.8849, 0.8849, 0.8849])
    for one in made:
        one["data"] |= {"test_majority": 0.1, "train_majority": 0.1, f"{split}_majority": majority}
    for row in rows:
        if row.metric.startswith(split) and row.epoch == 5:
            assert judge(row, evidence, made).verdict == AT_CHANCE
    (run,) = compared(rows, evidence, made).runs
    assert run.verdict == AT_CHANCE


@pytest.mark.parametrize(("majority", "verdict"), [(0.1, HOLDS), (0.97, AT_CHANCE)])
def test_a_number_of_the_validation_split_is_judged(majority, verdict):
    rows, evidence = of(CONV)
    (row,) = (row for row in rows if row.metric == "test_accuracy" and row.epoch == 5)
    row = structs.replace(row, split="validation", value="0.885")
    made = [validated(one, majority) for one in with_accuracy([0.884, 0.885, 0.886])]
    (run,) = compared([row], evidence, made).runs
    assert [(one.claim.metric, one.verdict) for one in run.numbers] == [
        ("validation_accuracy", verdict)
    ]


# Published runs


def compared(rows, evidence, made):
    runs, epochs = tabulated(made)
    return verdicts.compare_all(rows, evidence, sweeps_of(runs, LABELS), epochs)


def spread_around(center, deviation):
    """Twenty committed runs whose final outcomes are so far from the published numbers, or vary so."""
    values = {row.metric: row.number for row in of(CONV)[0] if row.epoch == 5}
    noise = deviation * np.tile([-1.0, 1.0], 10)
    rows = pd.DataFrame({name: value + center + noise for name, value in values.items()})
    about = {"backend": "torch", "global_batch": 1000, "steps": 60, "epoch": 5, "seed": range(20)}
    return prediction.Spread(rows.assign(**about))


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (spread_around(0.001, 0.002), HOLDS),
        (spread_around(0.1, 0.2), INCONCLUSIVE),
        (spread_around(0.1, 0.01), None),
    ],
)
def test_a_run_that_differs_may_be_explained_by_a_second_workload(second, verdict):
    rows, evidence = of(CONV)
    protocols = {
        name: structs.replace(one, second_workload="wider")
        for name, one in evidence.protocols.items()
    }
    evidence = replace(evidence, spreads={"wider": second})
    explained = replace(evidence, protocols=protocols)
    made = with_accuracy([0.870, 0.871, 0.872])
    (run,) = compared(rows, explained, made).runs
    assert run.verdict == DIFFERS
    assert run.explanation == (verdict and ("wider", verdict))
    (without,) = compared(rows, evidence, made).runs
    explained.spreads["fashion-conv"] = spread_around(0.001, 0.002)
    (agreeing,) = compared(rows, explained, with_accuracy([0.8848])).runs
    assert without.explanation is agreeing.explanation is None


def test_published_runs_of_one_program_are_compared_as_a_sample():
    row, evidence = row_of(CONV, "test_accuracy"), of(CONV)[1]
    people, values = ["Ann", "Bob", "Cy"], ["0.8861", "0.8862", "0.8863"]
    rows = [
        structs.replace(row, system=who, value=text)
        for who, text in zip(people, values, strict=True)
    ]
    protocol = evidence.protocols[row.system]
    evidence = replace(evidence, protocols=dict.fromkeys(people, protocol))
    found = compared(rows, evidence, with_accuracy([0.884, 0.885, 0.886]))
    (sample,) = found.samples
    assert [run.verdict for run in found.runs] == [HOLDS] * 3
    assert (sample.count, sample.verdict, len(sample.numbers)) == (3, HOLDS, 1)
    assert sample.system == "Ann; Bob; Cy"
    assert sample.numbers[0].claim.value == pytest.approx(0.8862)
    assert not compared(rows[:2], evidence, with_accuracy([0.884, 0.885, 0.886])).samples
    losses = [structs.replace(row, quantity="loss") for row in rows[2:]]
    assert not compared(
        [*rows[:2], *losses], evidence, with_accuracy([0.884, 0.885, 0.886])
    ).samples


def printed(metric, epoch, value, **more):
    """A row of the program that ends after five epochs."""
    row = row_of(CONV, metric, None if metric.startswith("test") else 5)
    return structs.replace(row, epoch=epoch, value=value, **more)


def test_each_metric_has_a_margin_and_its_final_number_a_verdict():
    metrics = prediction.OUTCOMES
    assert sorted(MARGINS) == sorted(metrics)
    judged = [name.split("_", 1) for name in metrics if not name.startswith("train_")]
    row = printed("test_accuracy", 5, "0.5")
    rows = [structs.replace(row, split=split, quantity=name) for split, name in judged]
    (places,) = verdicts.finals(rows).values()
    assert sorted(places) == [*range(len(rows))]


def test_only_what_is_final_is_the_end_and_a_log_that_breaks_off_is_compared_at_its_own_epoch():
    rows = [
        printed("test_accuracy", epoch, "0.5001", final="", system=who)
        for who, last in (("Ann", 3), ("Bob", 4), ("Cy", 3), ("Di", 3))
        for epoch in range(1, last + 1)
    ]
    evidence = of(CONV)[1]
    protocols = dict.fromkeys(["Ann", "Bob", "Cy", "Di"], next(iter(evidence.protocols.values())))
    evidence = replace(evidence, protocols=protocols)
    made = with_accuracy([0.884, 0.885, 0.886])
    for seed, one in enumerate(made):
        for epoch in one["epochs"][:4]:
            epoch["test_accuracy"] = 0.5 + seed / 1000
    found = compared(rows, evidence, made)
    assert [run.ends for run in found.runs] == [(3, 5), (4, 5), (3, 5), (3, 5)]
    assert [run.numbers[0].claim.epoch for run in found.runs] == [3, 4, 3, 3]
    assert {line.family for line in found.lines} == {"curve", "last"}
    (last, *_) = [line for line in found.lines if line.family == "last"]
    assert ("log_ends", 3, 5) in last.finding.caveats
    # Those of one length are a sample.
    assert [(one.count, one.ends) for one in found.samples] == [(3, (3, 5))]
    ended = [structs.replace(row, final="yes") if row.epoch == 3 else row for row in rows]
    runs = compared(ended, evidence, made).runs
    assert [(run.ends, run.numbers[0].claim.epoch) for run in runs] == [(None, 3)] * 4
    beside = structs.replace(ended[2], quantity="loss", final="")
    places = verdicts.finals([*ended[:3], beside, structs.replace(beside, epoch=2)])
    assert sorted(places["Ann"]) == [2, 3]


def test_the_best_epoch_is_compared_with_the_best_of_ours():
    made = with_accuracy([0.884, 0.885, 0.886])
    for one in made:
        one["epochs"][2]["test_accuracy"] = one["epochs"][4]["test_accuracy"] + 0.02
    best = printed("test_accuracy", 5, "0.9050", best=True)
    found = judge(best, of(CONV)[1], made)
    assert (found.verdict, found.measured.value) == (HOLDS, pytest.approx(0.905))
    final = printed("test_accuracy", 5, "0.8850")
    (run,) = compared([best, final], of(CONV)[1], made).runs
    assert [number.claim.name for number in run.numbers] == ["best_test_accuracy", "test_accuracy"]
    short = judge(best, of(CONV)[1], [one | {"epochs": one["epochs"][:3]} for one in made])
    assert short.measured.remark == ("best_of", 3)


def test_a_published_mean_is_compared_as_one_and_an_unlike_deviation_is_told():
    spreads = spreads_of(with_accuracy([0.880 + 0.001 * (k % 2) for k in range(20)]))
    made, evidence = with_accuracy([0.880, 0.881]), of(CONV, spreads)[1]
    found = judge(printed("test_accuracy", 5, "0.8811", runs=5, spread="0.0005"), evidence, made)
    assert found.verdict == DIFFERS
    assert not any(kind == "their_spread" for kind, *_ in found.caveats)
    alone = judge(printed("test_accuracy", 5, "0.8811"), evidence, made)
    assert alone.verdict == HOLDS
    mean = printed("test_accuracy", 5, "0.8811", runs=5, spread="0.0050")
    found = judge(mean, evidence, made)
    assert found.caveats[-1] == ("their_spread", 5, pytest.approx(0.00495 / 0.00051299, rel=1e-3))
    (run,) = compared([mean], evidence, made).runs
    assert run.varied[0] == "5 published runs"
    people = ["Ann", "Bob", "Cy"]
    protocols = dict.fromkeys(people, evidence.protocols[mean.system])
    rows = [structs.replace(mean, system=who) for who in people]
    assert not compared(rows, replace(evidence, protocols=protocols), made).samples


def test_flawed_numbers_are_shown_and_count_in_no_verdict():
    rows, evidence = of(CONV, SPREAD)
    made = with_accuracy([0.884, 0.885, 0.886])
    flawed = [
        structs.replace(row, flaws=("Wrong.",)) if row.metric == "test_loss" else row
        for row in rows
    ]
    found = compared(flawed, evidence, made)
    (line,) = [line for line in found.lines if line.row.flaws]
    assert (line.finding.verdict, line.finding.reasons) == ("flawed", (("flaw", "Wrong."),))
    assert line.finding.measured is not None
    (run,) = found.runs
    assert {number.claim.metric for number in run.numbers} == {"test_accuracy", "train_loss"}
    every = [structs.replace(row, flaws=("Wrong.",)) for row in rows]
    assert not compared(every, evidence, made).runs


def test_an_epoch_that_is_not_where_ours_are_is_named():
    """As the mean of an epoch that was averaged twice."""
    rows, evidence = of(CONV)
    made = with_accuracy([0.884, 0.885, 0.886])
    for seed, one in enumerate(made):
        for epoch, row in zip(one["epochs"], [12.7235, 0.76, 0.4443, 0.3401, 0.2867], strict=True):
            epoch["train_loss"] = row + seed / 1000
    wrong = [
        structs.replace(row, value="0.9") if (row.metric, row.epoch) == ("train_loss", 3) else row
        for row in rows
        if row.metric != "train_accuracy"
    ]
    (run,) = compared(wrong, evidence, made).runs
    assert [(one.claim.metric, one.claim.epoch) for one in run.astray] == [("train_loss", 3)]


def test_one_of_thirteen_runs_that_differs_barely_does_not_if_all_are_adjusted():
    def published(value, metric="test_loss"):
        one = prediction.judge(
            Claim(value, 1.0, metric), prediction.NO_RUNS, pd.Series([-1.0, 1.0] * 10)
        )
        return PublishedRun("theirs", "fashion-conv", "PyTorch", tuple(prediction.adjusted([one])))

    runs = [published(0.1 * place) for place in range(-6, 6)]
    barely, clearly = published(2.3), published(5.0)
    assert barely.verdict == clearly.verdict == DIFFERS
    assert verdicts.still_differing([barely]) == [barely]
    assert verdicts.still_differing([*runs, barely]) == []
    assert verdicts.still_differing([*runs, barely, clearly]) == [clearly]


def test_runs_that_vary_more_than_ours_are_named_beside_a_number_that_differs():
    """F(2, 19) at 5 % is 3.52: 1.88 times the deviation."""
    row, evidence = row_of(CONV, "test_accuracy"), of(CONV)[1]
    spread = spreads_of(with_accuracy([0.880 + 0.001 * (k % 2) for k in range(20)]))
    people = ["Ann", "Bob", "Cy"]
    protocol = evidence.protocols[row.system]
    evidence = replace(evidence, protocols=dict.fromkeys(people, protocol), spreads=spread)

    def varied(values, *others):
        rows = [
            structs.replace(row, system=who, value=text)
            for who, text in zip(people, values, strict=True)
        ]
        made = [*with_accuracy([0.880, 0.881]), *others]
        return [run.varied for run in compared(rows, evidence, made).runs]

    assert varied(["0.8805", "0.8805", "0.8830"]) == [
        None,
        None,
        ("3 published runs", "test_accuracy", pytest.approx(0.00144338 / 0.00051299, rel=1e-3)),
    ]
    assert varied(["0.8830", "0.8832", "0.8834"]) == [None] * 3
    elsewhere = with_accuracy([0.879, 0.881, 0.883], backend="torch-xla")
    (one, *_) = varied(["0.8830", "0.8832", "0.8834"], *elsewhere)
    assert one == ("runs of PyTorch/XLA SPMD", "test_accuracy", pytest.approx(3.8987, rel=1e-3))


# The runs that a number is compared with


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (with_accuracy([0.8848], source="synthetic"), ("synthetic",)),
        (with_accuracy([0.8848], steps_per_epoch=30), ("steps_per_epoch", 30, 60)),
        (with_accuracy([0.8848], precision="bfloat16"), ("precision", "bfloat16")),
        ([make_record(workload="fashion-cnn")], ("no_workload", "fashion-conv")),
        ([make_record(status="out_of_memory")], ("none_completed", ["out of memory"])),
        ([make_record(global_batch=8), make_record(global_batch=9)], ("no_batch", 1000, [8, 9])),
    ],
    ids=range(6),
)
def test_what_another_program_did_is_not_comparable(made, reason):
    found = judge(row_of(CONV, "test_accuracy"), of(CONV, SPREAD)[1], made)
    assert (found.verdict, found.reasons) == (NOT_COMPARABLE, (reason,))


def test_fewer_epochs_are_labelled():
    made, evidence = with_accuracy([0.8848], epochs=3), of(CONV, SPREAD)[1]
    final = judge(row_of(CONV, "test_accuracy"), evidence, made)
    assert (final.verdict, final.reasons) == (NOT_COMPARABLE, (("epochs", 3, 5),))
    assert (final.measured.value, final.measured.remark) == (0.8848, ("at_epoch", 3))
    missing = judge(row_of(CONV, "train_loss", 4), evidence, made)
    assert (missing.measured, missing.reasons) == (None, (("no_epoch", 3, 4),))
    assert judge(row_of(CONV, "train_loss", 3), evidence, made).measured.remark == ()
    (run,) = compared(*of(CONV, SPREAD), made).runs
    assert (run.numbers, run.lacks) == ((), (("epochs", 3, 5),))


def test_without_parity_accuracy_is_compared_and_time_is_not():
    made, evidence = with_accuracy([0.8848]), of(CONV, SPREAD)[1]
    found = judge(row_of(CONV, "test_accuracy"), evidence, made, passed=False)
    assert found.verdict == HOLDS
    time = judge(row_of(CONV, "step_time", 1), evidence, made, passed=False)
    assert (time.measured, time.reasons, time.has_runs) == (None, (("no_parity",),), True)


def test_the_nearest_number_of_replicas_that_was_completed_is_compared():
    """Published are 8; runs over 4 and 8 diverged."""
    made = [
        make_record(**LONG_CNN | {"replicas": replicas}, status=status)
        for replicas, status in ((1, "completed"), (2, "completed"), (4, "diverged"), (8, "diverged"))
    ]  # fmt: skip
    found = judge(row_of(CNN, "test_accuracy"), of(CNN)[1], made)
    assert found.runs == (made[1]["run"],)
    assert found.caveats == (("replicas", 2, 512, 8, 128),)


@pytest.fixture(scope="module")
def texts():
    return of_backend(reuters(), "tensorflow-mirrored")


def at(system, metric, epoch=None):
    """The row of a system of the text CNN, and the evidence."""
    rows, evidence = of(REUTERS)
    same = [row for row in rows if row.metric == metric and system in row.system]
    return next(row for row in same if epoch in (None, row.epoch)), evidence


@pytest.mark.parametrize(
    ("system", "cell", "caveats"),
    [
        ("1 GPU", ("reuters-cnn", 1), ()),
        ("2 logical", ("reuters-cnn", 2), ()),
        ("8 TPU", ("reuters-cnn-double-softmax", 1), (("replicas", 1, 32, 8, 4),)),
    ],
)
def test_each_system_is_compared_with_its_variant_and_replicas(texts, system, cell, caveats):
    specs = [(one["spec"]["workload"]["name"], one["spec"]["replicas"]) for one in texts]
    one = texts[specs.index(cell)]
    found = judge(*at(system, "train_loss", 5), texts)
    assert found.measured.value == pytest.approx(one["epochs"][4]["train_loss"])
    assert (found.caveats, found.reasons) == (caveats, (("few_runs", 3),))


def test_short_epochs_teach_less():
    options = {"workload": "reuters-cnn", "global_batch": 32}
    row = at("1 GPU", "train_loss", 1)
    short = judge(*row, [make_record(steps_per_epoch=4, **options)])
    assert short.reasons == (("epoch_examples", 128, 8982),)
    # 280 whole batches of 32; the source has 281.
    found = judge(*row, [make_record(steps_per_epoch=None, **options)])
    assert found.reasons == (("few_runs", 3),)


@pytest.mark.parametrize("changed", [{"cores": 1}, {"host": "node-2"}])
def test_too_few_runs_say_on_which_machines_or_cores_they_are(changed):
    """Five runs: three would be enough, and those here are divided between two numbers of cores, or hosts."""
    made = with_accuracy([0.884, 0.885])
    divided = with_accuracy([0.884, 0.885, 0.886, 0.887], host=changed.get("host", "node-1"))[2:]
    for one in divided:
        one["processes"][0]["cores"] = changed.get("cores", 2)
    rows, evidence = of(CONV)
    (run,) = compared(rows, evidence, made + divided).runs
    names = {machine_label(record.processes[0]) for record in typed(made + divided)}
    assert run.lacks == (("few_runs", 3), ("apart", " and ".join(sorted(names))))
    assert len(names) == 2
    (run,) = compared(rows, evidence, made).runs
    assert run.lacks == (("few_runs", 3),)


# Times, counts and targets


def test_times_are_never_reproduced():
    made = [make_record(seed=k, epochs=5) for k in range(3)]
    found = judge(row_of(CONV, "step_time", 2), of(CONV)[1], made)
    epoch = [one["epochs"][1] for one in made]
    expected = sorted(1000 * one["train_seconds"] / one["steps"] for one in epoch)[1]
    assert (found.verdict, found.reasons) == (NOT_COMPARABLE, (("hardware_training",),))
    assert found.measured.value == pytest.approx(expected)


def test_training_time_is_the_whole_run_or_a_call_of_fit(texts):
    made = make_record(workload="fashion-cnn", global_batch=1024, epochs=50, steps_per_epoch=None)
    found = judge(row_of(CNN, "training_time"), of(CNN)[1], [made])
    assert found.measured.value == pytest.approx(waited(made))
    assert texts[1]["spec"]["replicas"] == 2
    seconds = texts[1]["clocks"]["compilation"]
    seconds += sum(row["train_seconds"] + row["evaluate_seconds"] for row in texts[1]["epochs"])
    found = judge(*at("2 logical", "training_time"), texts)
    assert found.measured.value == pytest.approx(seconds)
    assert found.reasons[-1] == ("hardware_training_time",)


def test_epoch_time_of_short_epochs_is_extrapolated():
    """Published is MobileNetV2 on one replica at batch 64, epochs of 23,262 examples."""
    rows, evidence = of(MIRRORED)
    about = {"workload": "mobilenet-v2", "global_batch": 64}
    about |= {"speed": 10.0}
    short = make_record(**about, train_examples=2002, steps_per_epoch=2, epochs=2)
    found = judge(rows[0], evidence, [short])
    assert found.measured.value == pytest.approx(2326.2)
    assert found.measured.remark == ("extrapolated",)
    whole = make_record(**about, train_examples=23_262, steps_per_epoch=None, epochs=3)
    found = judge(rows[0], evidence, [whole])
    assert found.measured.value == pytest.approx(2323.2)  # 363 batches of 64
    assert (found.measured.remark, found.reasons[-1]) == ((), ("hardware_training",))


def test_throughput_of_the_published_batch():
    rows, evidence = of(SIZES)
    about = {"workload": "wide-resnet", "steps_per_epoch": 2}
    made = [make_record(global_batch=batch, **about) for batch in (8, 32)]
    assert judge(rows[1], evidence, made).reasons == (("no_batch", 16, [8, 32]),)
    there = judge(rows[0], evidence, made)
    assert there.measured.value == pytest.approx(speed(made[0]))
    assert there.reasons == (("model", "width", "1", "10"), ("hardware",))


@pytest.mark.parametrize(
    ("parameters", "verdict", "reason"),
    [(332_856, HOLDS, ("equal",)), (332_859, DIFFERS, ("count", 3, "below"))],
)
def test_parameters_are_equal_or_differ(parameters, verdict, reason):
    made = [make_record(workload="reuters-cnn", parameters=parameters)]
    found = judge(*at("model", "parameters"), made)
    assert (found.verdict, found.reasons) == (verdict, (reason,))


@pytest.mark.parametrize(
    ("value", "parameters", "verdict"),
    [
        ("332856", 332_856, CONSISTENT),
        ("330000", 332_856, CONSISTENT),
        ("320000", 332_856, DIFFERS),
    ],
)
def test_about_is_as_wide_as_its_digits_and_never_exact(texts, value, parameters, verdict):
    row, evidence = at("model", "parameters")
    made = [make_record(workload="reuters-cnn", parameters=parameters)]
    found = judge(structs.replace(row, value=value, bound="about"), evidence, made)
    assert found.verdict == verdict
    near = structs.replace(row_of(CONV, "test_accuracy"), value="0.88", decimals=2, bound="about")
    judgement = judge(near, of(CONV, SPREAD)[1], with_accuracy([0.884, 0.886])).judgement
    assert (judgement.claim.rounding, judgement.claim.bound) == (0.01, "")


@pytest.mark.parametrize(
    ("target", "verdict", "reason"),
    [(0.85, HOLDS, ("target",)), (0.6, NOT_COMPARABLE, ("other_target", 0.6, "0.85"))],
)
def test_the_published_target_is_that_of_the_runs(target, verdict, reason):
    (row,), evidence = of("batch_size_time_to_accuracy")
    about = {"workload": "wide-resnet", "steps_per_epoch": None, "patience": 2, "global_batch": 8}
    made = make_record(target=target, accuracies=[0.5, 0.9, 0.9], **about)
    found = judge(row, evidence, [made])
    assert (found.verdict, found.reasons) == (verdict, (reason,))


# Several series


def test_one_designated_series_judges():
    verdict_of = {"A": NOT_COMPARABLE, "B": HOLDS, "C": DIFFERS}
    found = {name: verdicts.Finding(verdict) for name, verdict in verdict_of.items()}
    assert verdicts.overall(found, ["A", "C"]) == ("C", found["C"])
    assert verdicts.overall(found, ["A"]) == verdicts.overall(found) == ("B", found["B"])
    assert verdicts.overall({"A": found["A"]}, ["B"]) == ("A", found["A"])
