"""Published rows of several systems: each stands beside the variant that it is about."""

import pandas as pd
import pytest
from judge_rows import REUTERS, judge, of, of_backend, tabulated
from make_experiments import batch_sizes, reuters, to_target
from make_records import make_record, speed
from make_tables import beside, write

from paragone.analysis import verdicts


@pytest.fixture(scope="module")
def texts():
    return reuters()


def at(rows, system, metric, epoch):
    found = [r for r in rows if (r.metric, r.epoch) == (metric, epoch) and system in r.system]
    return found[0]


def test_each_system_stands_beside_its_variant_and_replicas(texts):
    rows, evidence, _ = of(REUTERS)
    mirrored = of_backend(texts, "tensorflow-mirrored")
    cells = {
        (one["spec"]["workload"]["name"], one["spec"]["replicas"]): one["epochs"][4]["train_loss"]
        for one in mirrored
    }
    for system, cell, aside in (
        ("1 GPU", ("reuters-cnn", 1), ()),
        ("2 logical", ("reuters-cnn", 2), ()),
        (
            "8 TPU",
            ("reuters-cnn-double-softmax", 1),
            ("1 x batch 32 per replica, published 8 x 4",),
        ),
    ):
        finding = judge(at(rows, system, "train_loss", 5), evidence, mirrored)
        assert float(finding.measured.split()[0]) == pytest.approx(cells[cell], abs=0.6e-4)
        assert finding.asides == aside
        assert finding.verdict != verdicts.NOT_COMPARABLE


def test_times_need_the_published_replicas(texts):
    rows, evidence, _ = of(REUTERS)
    torch = of_backend(texts, "torch")
    finding = judge(at(rows, "8 TPU", "epoch_time", 5), evidence, torch)
    assert (finding.measured, finding.why) == ("-", "no run with 8 replicas")
    tpu = judge(at(rows, "8 TPU", "test_loss", 5), evidence, of_backend(texts, "tensorflow-tpu"))
    assert tpu.why == "no run was completed: device not available"


def test_fit_time_is_compilation_training_and_evaluation(texts):
    rows, evidence, _ = of(REUTERS)
    row = next(row for row in rows if row.metric == "training_time" and "2 logical" in row.system)
    mirrored = of_backend(texts, "tensorflow-mirrored")
    assert mirrored[1]["spec"]["replicas"] == 2
    seconds = mirrored[1]["clocks"]["cold"]["compilation"]
    seconds += sum(row["train_seconds"] + row["evaluate_seconds"] for row in mirrored[1]["epochs"])
    finding = judge(row, evidence, mirrored)
    assert finding.measured == f"{seconds:,.1f} (n = 1)"
    assert finding.verdict == verdicts.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("parameters", "verdict", "why"),
    [
        (332_856, "reproduced", "equal"),
        (
            332_870,
            "differs",
            "14 more: the vocabulary has 30,984 words, published 30,982, and each",
        ),
        (332_859, "differs", "differs by +3"),
    ],
)
def test_parameters_follow_from_the_vocabulary(parameters, verdict, why):
    rows, evidence, _ = of(REUTERS)
    row = next(row for row in rows if row.metric == "parameters")
    made = [make_record(workload="reuters-cnn", dataset="reuters", parameters=parameters)]
    finding = judge(row, evidence, made)
    assert finding.verdict == verdict
    assert finding.why.startswith(why)


@pytest.mark.parametrize(
    ("target", "verdict", "why"),
    [
        (0.85, "reproduced", "the runs had the published target"),
        (0.6, "not comparable", "the runs had the target 0.6, published 0.85"),
    ],
)
def test_the_published_target_is_that_of_the_runs(target, verdict, why):
    (row,), evidence, _ = of("batch_size_time_to_accuracy")
    torch = of_backend(to_target(1, target), "torch")
    finding = judge(row, evidence, torch)
    assert (finding.verdict, finding.why) == (verdict, why)


def test_a_batch_that_was_not_run_is_said():
    rows, evidence, _ = of("batch_size_throughput")
    made = [one for one in of_backend(batch_sizes(1), "torch")
            if one["spec"]["global_batch"] in (8, 32)]  # fmt: skip
    assert judge(rows[1], evidence, made).why == "no run with global batch 16 (8, 32 are there)"
    there = judge(rows[0], evidence, made)
    assert there.measured == f"{speed(made[0]):,.1f} (n = 1)"
    assert there.why == "width 1, published 10; other hardware"


def test_short_epochs_teach_less(texts):
    rows, evidence, _ = of(REUTERS)
    options = {"workload": "reuters-cnn", "dataset": "reuters", "global_batch": 32}
    options |= {"train_examples": 8982}
    short = judge(rows[0], evidence, [make_record(steps_per_epoch=4, **options)])
    assert short.why == "128 examples per epoch, published 8,982"
    whole = judge(rows[0], evidence, [make_record(steps_per_epoch=None, **options)])
    assert (
        whole.verdict == verdicts.UNDECIDED
    )  # one run, no spread; 280 whole batches of 32; the source has 281


def test_one_column_per_backend_and_shared_asides_once(texts, tmp_path):
    rows, _, _ = of(REUTERS)
    runs, epochs = tabulated(texts)
    written = write(tmp_path, "comparison", *beside(REUTERS), runs=runs, epochs=epochs)
    table = pd.read_csv(written["csv"])
    series = ["TensorFlow Mirrored", "PyTorch", "PyTorch/XLA SPMD", "TensorFlow TPU"]
    assert list(table.columns[4:8]) == series
    assert len(table) == len(rows) == 40 + 60 + 60 + 3
    assert set(table["verdict"]) <= set(verdicts.VERDICTS)
    assert (table.loc[table["metric"] == "epoch_time", "verdict"] == "not comparable").all()


def test_the_sources_own_numbers_survive():
    """Three printed values that are easily mistyped."""
    rows, _, _ = of(REUTERS)
    assert at(rows, "2 logical", "test_accuracy", 7).value == "0.6046"
    assert at(rows, "8 TPU", "train_accuracy", 5).value == "0.6008"
    assert at(rows, "8 TPU", "test_loss", 8).value == "3.3025"
    assert rows[0].tolerance == pytest.approx(0.5e-9)
