"""Published rows of several systems, their protocols and ratios: each verdict by hand."""

from pathlib import Path

import pytest
from make_experiments import batch_sizes, mobilenet, reuters, to_target
from make_records import LABELS, make_record

import compare_published
from paragone import published, tables, verdicts
from paragone.errors import UserError
from paragone.quantities import QUANTITIES
from paragone.series import sweeps_of

FOLDER = Path(__file__).parents[2] / "published"
MIRRORED, REUTERS = "mirrored_mobilenet", "reuters_strategies"
EXPERIMENTS = [
    MIRRORED,
    "multiworker_mobilenet",
    REUTERS,
    "batch_size_throughput",
    "batch_size_time_to_accuracy",
]


def of(experiment):
    rows = published.read_rows(FOLDER / "published.csv", experiment)
    protocols = published.read_protocols(FOLDER / "protocols.csv", experiment)
    return rows, protocols, published.read_ratios(FOLDER / "ratios.csv", experiment, rows)


def tabulated(made, passed=True):
    keys = {(one["spec"]["workload"]["name"], one["spec"]["backend"]["name"]) for one in made}
    return tables.tables(made, "one", dict.fromkeys(keys, passed))


def judge(row, protocols, made, passed=True):
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare(row, protocols[row.system], sweep.runs, epochs)


def pairs(ones, twos, seeds=None, **options):
    """MobileNetV2 on one and on two replicas at batch 64, with these examples/s by seed."""
    common = {"workload": "mobilenet-v2", "dataset": "cats_vs_dogs", "steps_per_epoch": 2}
    common |= {"train_examples": 2002, "epochs": 2, "global_batch": 64, **options}
    made = [make_record(seed=k, replicas=1, speed=v, **common) for k, v in enumerate(ones)]
    seeds = seeds or range(len(twos))
    made += [
        make_record(seed=k, replicas=2, speed=v, **common) for k, v in zip(seeds, twos, strict=True)
    ]
    return made


def judge_ratio(made, passed=True, which=0, experiment=MIRRORED):
    _, protocols, ratios = of(experiment)
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare_ratio(ratios[which], protocols, sweep.runs, epochs)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_row_has_a_protocol_and_a_quantity(experiment):
    rows, protocols, _ = of(experiment)
    assert {row.system for row in rows} == set(protocols)
    assert {row.quantity for row in rows} <= set(QUANTITIES)
    for row in rows:
        if row.quantity in ("epoch_time", "throughput"):
            assert row.global_batch(protocols[row.system])


def test_batch_sizes_are_read_from_the_condition():
    rows, protocols, _ = of(MIRRORED)
    assert [row.global_batch(protocols[row.system]) for row in rows] == [64, 64, 256]
    (row, _), protocols, _ = of("xla_fashion_cnn")
    assert (row.batch, row.batch_per_core) == (128, True)
    assert row.global_batch(protocols[row.system]) == 1024


def test_published_ratios_by_hand():
    _, _, (small, large) = of(MIRRORED)
    assert (small.value, large.value) == (pytest.approx(150 / 36), pytest.approx(5))
    assert small.rounding == pytest.approx((149.5 / 36.5, 150.5 / 35.5))
    assert small.printed == "4.17 = 150 / 36"
    _, _, ratios = of("multiworker_mobilenet")
    assert [ratio.value for ratio in ratios] == pytest.approx([1622 / 858, 1622 / 755])
    _, _, ratios = of("batch_size_throughput")
    assert len(ratios) == 7
    assert ratios[5].printed == "4.05 = 1329 / 328"
    assert ratios[5].condition == "batch 512, over batch 8"


@pytest.mark.parametrize(
    ("ones", "twos", "verdict", "why", "measured"),
    [
        # The ratios 4.0, 4.2, 4.4 hold 4.17.
        ([10, 10, 10], [40, 42, 44], "match", "the interval holds the published ratio", "4.20"),
        # One run: 4.15 lies between 149.5/36.5 = 4.10 and 150.5/35.5 = 4.24.
        ([10], [41.5], "match", "equal within the rounding of the published numbers", "4.15"),
        ([10], [40.9], "trend only", "same direction, 0.98 times the published ratio", "4.09"),
        ([10, 20, 30], [15, 31, 48], "trend only", "same direction, 0.37 times", "1.55"),
        ([10, 10, 10], [8, 8.5, 9], "trend only", "opposite direction, 0.20 times", "0.85"),
        ([10, 10, 10], [9, 10.4, 11], "trend only", "no clear direction, the interval holds 1", ""),
    ],
)
def test_speed_ups_by_hand(ones, twos, verdict, why, measured):
    finding = judge_ratio(pairs(ones, twos))
    assert finding.verdict == verdict
    assert finding.why.startswith(why)
    assert finding.measured.startswith(measured)
    assert finding.measured.endswith(f"(n = {len(twos)})")


def test_ratios_pair_seeds_before_the_median():
    # By seed: 2, 2, 2. The ratio of the medians would be 2 too, that of unpaired seeds not.
    finding = judge_ratio(pairs([10, 20, 40], [20, 40, 80]))
    assert finding.measured == "2.00 (n = 3)"
    assert judge_ratio(pairs([10, 20], [20], seeds=[1])).measured == "1.00 (n = 1)"
    assert judge_ratio(pairs([10], [20], seeds=[7])).why == "no seed ran both"


def test_ratios_that_cannot_be_judged():
    assert judge_ratio(pairs([10], [20], source="synthetic")).why == "SYNTHETIC DATA"
    assert judge_ratio(pairs([10], [20]), passed=False).why == "parity is not proven: no speed"
    assert judge_ratio(pairs([10], [])).why == "no run with 2 replicas"
    assert (
        judge_ratio(pairs([10], [20]), which=1).why == "no run with global batch 256 (64 is there)"
    )
    large = judge_ratio(mobilenet(2)[-4:], which=1)  # PyTorch/XLA, two replicas: memory ended
    assert large.why == "no run was completed: out of memory (all 2 runs)"
    for finding in (large, judge_ratio(pairs([10], []))):
        assert (finding.measured, finding.verdict) == ("-", "not comparable")


def test_another_width_of_model_is_no_match():
    made = [
        make_record(
            seed=k, global_batch=batch, workload="wide-resnet", model={"width": width},
            train_examples=10_000, steps_per_epoch=2, epochs=2, speed=speed,
        )
        for width in (1, 10)
        for k in range(2)
        for batch, speed in ((8, 100.0), (512, 405.0))
    ]  # fmt: skip
    runs, epochs = tabulated(made[4:])
    _, protocols, ratios = of("batch_size_throughput")
    wide = verdicts.compare_ratio(ratios[5], protocols, runs, epochs)
    assert (wide.measured, wide.verdict) == ("4.05 (n = 2)", "match")
    narrow = judge_ratio(made[:4], which=5, experiment="batch_size_throughput")
    assert narrow.verdict == "trend only"
    assert narrow.why.endswith("width 1, published 10")


def test_epoch_time_of_short_epochs_is_extrapolated():
    rows, protocols, _ = of(MIRRORED)
    finding = judge(rows[0], protocols, pairs([10.0], []))
    assert finding.measured == "2,326.2 (n = 1), extrapolated"  # 23,262 / 10
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "23,262 examples at the steady throughput of epochs of 128" in finding.why
    whole = pairs([10.0], [], train_examples=23_262, steps_per_epoch=None, epochs=3)
    finding = judge(rows[0], protocols, whole)
    assert finding.measured == "2,323.2 (n = 1)"  # 363 batches of 64
    assert "mean of the epochs after the first" in finding.why
    assert judge(rows[1], protocols, pairs([10.0], [])).why == "no run with 2 replicas"


@pytest.fixture(scope="module")
def texts():
    return reuters()


def of_backend(made, name):
    return [one for one in made if one["spec"]["backend"]["name"] == name]


def at(rows, system, metric, epoch):
    found = [r for r in rows if (r.metric, r.epoch) == (metric, epoch) and system in r.system]
    return found[0]


def test_each_system_stands_beside_its_variant_and_replicas(texts):
    rows, protocols, _ = of(REUTERS)
    mirrored = of_backend(texts, "tensorflow-mirrored")
    cells = {
        (one["spec"]["workload"]["name"], one["spec"]["replicas"]): one["epochs"][4]["train_loss"]
        for one in mirrored
    }
    for system, cell, aside in (
        ("1 GPU", ("reuters-cnn", 1), ()),
        ("2 logical", ("reuters-cnn", 2), ()),
        ("8 TPU", ("reuters-cnn-double-softmax", 1), ("1 x batch 32 a replica, published 8 x 4",)),
    ):
        finding = judge(at(rows, system, "train_loss", 5), protocols, mirrored)
        assert float(finding.measured.split()[0]) == pytest.approx(cells[cell], abs=0.6e-4)
        assert finding.asides == (*aside, "edition rebuilt")
        assert finding.verdict != verdicts.NOT_COMPARABLE


def test_times_need_the_published_replicas(texts):
    rows, protocols, _ = of(REUTERS)
    torch = of_backend(texts, "torch")
    finding = judge(at(rows, "8 TPU", "epoch_time", 5), protocols, torch)
    assert (finding.measured, finding.why) == ("-", "no run with 8 replicas")
    tpu = judge(at(rows, "8 TPU", "test_loss", 5), protocols, of_backend(texts, "tensorflow-tpu"))
    assert tpu.why == "no run was completed: device not available"


def test_fit_time_is_compilation_training_and_evaluation(texts):
    rows, protocols, _ = of(REUTERS)
    row = next(row for row in rows if row.metric == "training_time" and "2 logical" in row.system)
    mirrored = of_backend(texts, "tensorflow-mirrored")
    clocks = mirrored[1]["clocks"]
    assert mirrored[1]["spec"]["replicas"] == 2
    seconds = clocks["cold"]["compilation"] + clocks["train"] + clocks["evaluate"]
    finding = judge(row, protocols, mirrored)
    assert finding.measured == f"{seconds:,.1f} (n = 1)"
    assert finding.verdict == verdicts.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("parameters", "verdict", "why"),
    [
        (332_856, "match", "equal"),
        (332_870, "trend only", "+14 = 7 x +2 words: a vocabulary of 30,984, published 30,982"),
        (332_859, "trend only", "differs by +3"),
    ],
)
def test_parameters_follow_from_the_vocabulary(parameters, verdict, why):
    rows, protocols, _ = of(REUTERS)
    row = next(row for row in rows if row.metric == "parameters")
    made = [make_record(workload="reuters-cnn", dataset="reuters", parameters=parameters)]
    finding = judge(row, protocols, made)
    assert finding.verdict == verdict
    assert finding.why.startswith(why)


@pytest.mark.parametrize(
    ("target", "verdict", "why"),
    [
        (0.85, "match", "the runs had the published target"),
        (0.6, "not comparable", "the runs had the target 0.6, published 0.85"),
    ],
)
def test_the_published_target_is_that_of_the_runs(target, verdict, why):
    (row,), protocols, _ = of("batch_size_time_to_accuracy")
    torch = of_backend(to_target(1, target), "torch")
    finding = judge(row, protocols, torch)
    assert (finding.verdict, finding.why) == (verdict, why)


def test_a_batch_that_was_not_run_is_said():
    rows, protocols, _ = of("batch_size_throughput")
    made = [one for one in of_backend(batch_sizes(1), "torch")
            if one["spec"]["batch"]["global"] in (8, 32)]  # fmt: skip
    assert judge(rows[1], protocols, made).why == "no run with global batch 16 (8, 32 are there)"
    there = judge(rows[0], protocols, made)
    assert there.measured == f"{made[0]['steady']['examples_per_second']:,.1f} (n = 1)"
    assert there.why == "width 1, published 10; other hardware"


def test_short_epochs_teach_less(texts):
    rows, protocols, _ = of(REUTERS)
    options = {"workload": "reuters-cnn", "global_batch": 32, "train_examples": 8982}
    short = judge(rows[0], protocols, [make_record(steps_per_epoch=4, **options)])
    assert short.why == "128 examples an epoch, published 8,982"
    whole = judge(rows[0], protocols, [make_record(steps_per_epoch=None, **options)])
    assert whole.verdict == verdicts.TREND  # 280 whole batches of 32; the source has 281


def test_one_column_a_backend_and_shared_asides_once(texts):
    rows, protocols, ratios = of(REUTERS)
    runs, epochs = tabulated(texts)
    table = compare_published.comparison(rows, ratios, protocols, runs, epochs, LABELS)
    series = ["TensorFlow Mirrored", "PyTorch", "PyTorch/XLA SPMD", "TensorFlow TPU"]
    assert list(table.columns[4:8]) == series
    assert list(table.columns[-4:]) == [f"runs of {name}" for name in series]
    assert len(table) == len(rows) == 40 + 60 + 60 + 3
    assert table["why"].str.count("edition rebuilt").max() == 1
    assert set(table["verdict"]) <= {"match", "trend only", "not comparable"}
    assert (table.loc[table["metric"] == "epoch_time", "verdict"] == "not comparable").all()


def test_a_ratio_without_its_reference_names_the_file(tmp_path):
    path = tmp_path / "ratios.csv"
    path.write_text(
        f"experiment,metric,name,reference,formula\n{MIRRORED},epoch_time,x,no such,-\n"
    )
    with pytest.raises(UserError, match="no such"):
        published.read_ratios(path, MIRRORED, of(MIRRORED)[0])


def test_a_broken_table_of_protocols_is_named(tmp_path):
    path = tmp_path / "protocols.csv"
    text = (FOLDER / "protocols.csv").read_text()
    path.write_text(text.replace(",2,,,23262", ",two,,,23262"))
    with pytest.raises(UserError, match=r"protocols\.csv.*two"):
        published.read_protocols(path, MIRRORED)


def test_the_sources_own_numbers_survive():
    """Three printed values that are easily mistyped."""
    rows, _, _ = of(REUTERS)
    assert at(rows, "2 logical", "test_accuracy", 7).value == "0.6046"
    assert at(rows, "8 TPU", "train_accuracy", 5).value == "0.6008"
    assert at(rows, "8 TPU", "test_loss", 8).value == "3.3025"
    assert rows[0].tolerance == pytest.approx(0.5e-9)
