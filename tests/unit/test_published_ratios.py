"""Published rows, their protocols and ratios: each verdict by hand."""

import pytest
from judge_rows import FOLDER, judge, of, tabulated
from make_experiments import mobilenet
from make_records import LABELS, make_record

from paragone.analysis import published, verdicts
from paragone.analysis.cells import QUANTITIES
from paragone.analysis.grouping import sweeps_of
from paragone.base.errors import UserError

MIRRORED = "mirrored_mobilenet"
EXPERIMENTS = [
    MIRRORED,
    "multiworker_mobilenet",
    "reuters_strategies",
    "batch_size_throughput",
    "batch_size_time_to_accuracy",
]


def pairs(ones, twos, seeds=None, **options):
    """MobileNetV2 on one and on two replicas at batch 64, with these examples/s by seed."""
    common = {"workload": "mobilenet-v2", "dataset": "cats_vs_dogs", "steps_per_epoch": 2}
    common |= {"train_examples": 2002, "epochs": 2, "global_batch": 64, **options}
    made = [make_record(seed=k, replicas=1, speed=v, **common) for k, v in enumerate(ones)]
    seeds = seeds or range(len(twos))
    made += [
        make_record(seed=k, replicas=2, speed=v, **common) for k, v in zip(seeds, twos, strict=True)
    ]
    for one in made:
        one["spec"]["backend"]["device"] = "gpu"  # replicas that do not share cores
    return made


def judge_ratio(made, passed=True, which=0, experiment=MIRRORED):
    _, evidence, ratios = of(experiment)
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare_ratio(ratios[which], evidence, sweep.runs, epochs)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_row_has_a_protocol_and_a_quantity(experiment):
    rows, evidence, _ = of(experiment)
    protocols = evidence.protocols
    assert {row.system for row in rows} == set(protocols)
    assert {row.metric for row in rows} <= set(QUANTITIES)
    for row in rows:
        if row.metric in ("epoch_time", "throughput"):
            assert protocols[row.system].batch_of(row)


def test_batch_sizes_are_of_all_replicas():
    rows, evidence, _ = of(MIRRORED)
    assert [evidence.protocols[row.system].batch_of(row) for row in rows] == [64, 64, 256]
    (row, _), evidence, _ = of("xla_fashion_cnn")
    assert (row.global_batch, row.per_replica_batch) == (None, 128)
    assert evidence.protocols[row.system].batch_of(row) == 1024


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
    ("twos", "verdict", "why", "measured"),
    [
        # Logs of the ratios: mean ln 4, deviation 0.00995; h = 4.302653 x 0.00995 x sqrt(4 / 3) = 0.0494.
        ([39.6, 40, 40.4], "reproduced", "1.04 times the measured ratio", "4.00 [3.81, 4.20] (n = 3)"),
        # 4.17 / 3.75 is more than a tenth above, 4.17 / 3.82 is not.
        ([37.5] * 3, "differs", "1.11 times", "3.75 [3.75, 3.75] (n = 3)"),
        ([38.2] * 3, "reproduced", "1.09 times", "3.82 [3.82, 3.82] (n = 3)"),
        # Deviation 0.0489: h = 0.243, ten times what a margin of 0.0953 allows.
        ([38, 40, 41.9], "undecided", "1.04 times", "3.99 [3.13, 5.09] (n = 3)"),
        # Slower with two: the interval excludes 1, on the other side of it than what was published.
        ([8.4, 8.5, 8.6], "differs", "4.90 times the measured ratio, in the opposite direction", "0.85"),
        ([9, 10.4, 11], "differs", "4.13 times the measured ratio", "1.01 [0.60, 1.69] (n = 3)"),
        ([41.5, 41.6], "undecided", "an interval takes 3 runs", "4.15 (n = 2)"),
    ],
)  # fmt: skip
def test_speed_ups_by_hand(twos, verdict, why, measured):
    finding = judge_ratio(pairs([10] * len(twos), twos))
    assert finding.verdict == verdict
    assert why in finding.why
    assert finding.measured.startswith(measured)
    assert ("opposite" in finding.why) is ("opposite" in why)


def test_replicas_that_share_cores_have_no_speed_up():
    made = pairs([10, 10], [40, 42])
    for one in made:
        one["spec"]["backend"]["device"] = "cpu"
    finding = judge_ratio(made)
    assert (finding.measured, finding.verdict) == ("4.10 [4.00, 4.20] (n = 2)", "not comparable")
    assert "share the cores" in finding.why


def test_small_images_are_not_comparable():
    made = pairs([10, 10, 10], [40, 42, 44])
    for one in made:
        one["data"]["input_shape"] = [64, 64, 3]
    finding = judge_ratio(made)
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert finding.why == "inputs of 64 x 64 x 3, published 224 x 224 x 3"


def test_ratios_pair_seeds_before_the_mean():
    # By seed: 2, 2, 2. The ratio of the means would be 2 too, but with an interval.
    finding = judge_ratio(pairs([10, 20, 40], [20, 40, 80]))
    assert finding.measured == "2.00 [2.00, 2.00] (n = 3)"
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
    assert large.why == "no run was completed: out of memory (both runs)"
    for finding in (large, judge_ratio(pairs([10], []))):
        assert (finding.measured, finding.verdict) == ("-", "not comparable")


def test_another_width_of_model_is_not_comparable():
    made = [
        make_record(
            seed=k, global_batch=batch, workload="wide-resnet", model={"width": width},
            train_examples=10_000, steps_per_epoch=2, epochs=2, speed=speed,
        )
        for width in (1, 10)
        for k in range(3)
        for batch, speed in ((8, 100.0), (512, 405.0))
    ]  # fmt: skip
    wide = judge_ratio(made[6:], which=5, experiment="batch_size_throughput")
    assert (wide.measured, wide.verdict) == ("4.05 [4.05, 4.05] (n = 3)", verdicts.REPRODUCED)
    narrow = judge_ratio(made[:6], which=5, experiment="batch_size_throughput")
    assert narrow.verdict == verdicts.NOT_COMPARABLE
    assert narrow.why == "width 1, published 10"


def test_epoch_time_of_short_epochs_is_extrapolated():
    rows, evidence, _ = of(MIRRORED)
    finding = judge(rows[0], evidence, pairs([10.0], []))
    assert finding.measured == "2,326.2 (n = 1), extrapolated"  # 23,262 / 10
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "23,262 examples at the steady throughput" in finding.why
    whole = pairs([10.0], [], train_examples=23_262, steps_per_epoch=None, epochs=3)
    finding = judge(rows[0], evidence, whole)
    assert finding.measured == "2,323.2 (n = 1)"  # 363 batches of 64
    assert "mean of the epochs after the first" in finding.why
    assert judge(rows[1], evidence, pairs([10.0], [])).why == "no run with 2 replicas"


def test_a_ratio_without_its_reference_names_the_file(tmp_path):
    path = tmp_path / "ratios.csv"
    path.write_text(
        "experiment,metric,name,reference_system,reference_batch,formula\n"
        f"{MIRRORED},epoch_time,x,no such,8,-\n"
    )
    with pytest.raises(UserError, match="no such"):
        published.read_ratios(path, MIRRORED, of(MIRRORED)[0])


def test_a_broken_table_of_protocols_is_named(tmp_path):
    path = tmp_path / "protocols.csv"
    text = (FOLDER / "protocols.csv").read_text()
    path.write_text(text.replace(",2,,,23262", ",two,,,23262"))
    with pytest.raises(UserError, match=r"protocols\.csv.*two"):
        published.read_protocols(path, MIRRORED)
