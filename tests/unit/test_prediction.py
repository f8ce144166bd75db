"""The committed spread, judgements from it, and the families of published rows."""

import re

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing
from judge_rows import tabulated, with_accuracy
from make_records import make_record

from paragone.analysis import prediction, verdicts
from paragone.analysis.prediction import (
    CONSISTENT,
    DIFFERS,
    HOLDS,
    INCONCLUSIVE,
    NO_RUNS,
    NOT_COMPARABLE,
    Claim,
    adjusted,
    judge,
)
from paragone.analysis.statistics import holm
from paragone.reporting import answers, tables

# 20 runs, deviation sqrt(20 / 19) = 1.02598; t(19) = 2.093024.
KNOWN = pd.Series(np.tile([-1.0, 1.0], 10))


def by_seed(values, first=0):
    """Outcomes of runs whose seeds begin with `first`."""
    return pd.Series(values, range(first, first + len(values)), dtype=float)


def one_more(value, margin=0.0, known=KNOWN, **about):
    """The judgement on a published run by committed ones alone."""
    return judge(Claim(value, margin, **about), NO_RUNS, known)


def test_a_prediction_interval_by_hand():
    """Of the runs at hand and the committed ones together: 22, two of which are at 0."""
    found = judge(Claim(0.5, 3.0), by_seed([0.0, 0.0], 20), KNOWN)
    deviation = (20 / 21) ** 0.5
    assert (found.n, found.center, found.difference) == (22, 0, 0.5)
    assert found.half_width == pytest.approx(2.079614 * deviation * (23 / 22) ** 0.5, 1e-5)  # t(21)
    assert found.verdict == HOLDS
    edge = judge(Claim(found.half_width), by_seed([0.0, 0.0], 20), KNOWN)
    assert edge.p == pytest.approx(0.05)
    assert one_more(2.07, 2.0).verdict == CONSISTENT
    assert one_more(2.21, 2.0).verdict == DIFFERS


# Of a one-sided t test of one more run: t(19) = 1.729133.
LEFT_OPEN = 1.729133 * (20 / 19 * 21 / 20) ** 0.5


def test_equal_takes_distance_and_uncertainty_together():
    assert one_more(0.0).uncertainty == pytest.approx(LEFT_OPEN)
    assert one_more(0.5, 0.51 + LEFT_OPEN).verdict == HOLDS
    assert one_more(0.5, 0.49 + LEFT_OPEN).verdict == CONSISTENT
    found = one_more(3.0, 3.1 + LEFT_OPEN)
    assert (found.verdict, found.is_equal) == (DIFFERS, True)


@pytest.mark.parametrize(("rounding", "margin"), [(0.0, LEFT_OPEN), (0.3, LEFT_OPEN + 0.3)])
def test_inconclusive_is_what_no_published_number_could_have_changed(rounding, margin):
    values = np.linspace(-4, 4, 201)
    for sign, best in ((1, HOLDS), (-1, INCONCLUSIVE)):
        found = [one_more(one, margin + sign * 1e-3, rounding=rounding).verdict for one in values]
        assert found[100] == best
        assert set(found) == {best, DIFFERS} | ({CONSISTENT} if sign > 0 else set())


@pytest.mark.parametrize(
    ("runs", "rounding", "margin"), [(1, 0.0, 2.0), (1, 0.2, 2.0), (4, 0.0, 1.1)]
)
def test_so_many_more_runs_that_vary_alike_decide(runs, rounding, margin):
    def of(n):
        values = np.arange(n) - (n - 1) / 2
        drawn = by_seed(values / values.std(ddof=1))
        return judge(Claim(0.0, margin, rounding=rounding, runs=runs), drawn)

    lacking = int(of(3).lacking)
    assert lacking > 1
    assert of(3 + lacking).verdict == HOLDS
    assert of(3 + lacking - 1).verdict == INCONCLUSIVE


def test_runs_that_vary_by_more_than_the_margin_are_decided_by_no_number_of_them():
    """With any number of seeds the one-sided test of one published run leaves 1.644854 deviations open."""
    few = by_seed([-1.0, 0.0, 1.0])
    assert judge(Claim(0.0, 1.64), few).lacking == np.inf
    assert judge(Claim(0.0, 1.64, runs=4), few).lacking < np.inf


def test_printed_digits_are_an_interval():
    """What prints as 2.2 may be 2.15, which one more run could be; equal must be all that prints so."""
    assert one_more(2.21).verdict == DIFFERS
    assert one_more(2.21, 2.0, rounding=0.06).verdict == CONSISTENT
    assert one_more(0.5, 0.52 + LEFT_OPEN, rounding=0.05).verdict == CONSISTENT


@pytest.mark.parametrize(
    ("values", "bound", "verdict"),
    [([9, 10, 11], 5.0, HOLDS), ([0, 9, 11], 7.0, CONSISTENT), ([3, 4, 5], 9.0, DIFFERS)],
)
def test_a_bound_is_met_by_more(values, bound, verdict):
    """t(2) = 4.302653: h = 4.97 around 10 and 4."""
    assert judge(Claim(bound, bound="lower"), by_seed(values)).verdict == verdict
    assert judge(Claim(-bound, bound="upper"), -by_seed(values)).verdict == verdict


def test_a_mean_of_runs_by_hand():
    """Of five runs and our 20: t(19) = 2.093024."""
    half = 2.093024 * (20 / 19) ** 0.5 * (1 / 5 + 1 / 20) ** 0.5
    found = one_more(0.0, 2.0, runs=5)
    assert found.half_width == pytest.approx(half, 1e-5)
    assert one_more(half + 0.01, 2.0, runs=5).verdict == DIFFERS
    assert one_more(half + 0.01, 2.0).verdict == CONSISTENT
    # Any of the published runs may have been as our outlier.
    values = KNOWN.copy()
    values[5] = 30.0
    assert one_more(0.0, known=values, runs=5).n == 20


@pytest.mark.parametrize("runs", [1, 5])
def test_of_exact_replicates_one_in_twenty_differs(runs):
    """Of 3,000 draws between 3.8 and 6.2 % are three standard errors."""
    rng = np.random.default_rng(58)
    drawn = zip(rng.normal(size=(3000, 8)), rng.normal(size=(3000, runs)).mean(1), strict=True)
    found = [one_more(mean, known=pd.Series(ours), runs=runs).verdict for ours, mean in drawn]
    assert found.count(DIFFERS) / len(found) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize(
    ("deviation", "rounding", "n", "times"),
    [(1.0, 0.0, 5, None), (3.0, 0.0, 5, 3 / 1.02598), (0.1, 0.0, 5, 0.1 / 1.02598), (0.0, 2.0, 5, None)],
)  # fmt: skip
def test_deviations_that_are_unlike_are_told(deviation, rounding, n, times):
    """F(4, 19) between 0.117 and 3.56 are like: 0.34 to 1.89 times."""
    found = prediction.times_as_varied(deviation, n, one_more(0.0), rounding, either=True)
    assert found == (times and pytest.approx(times, 1e-4))


def test_the_best_of_epochs_is_that_of_each_seed():
    spread = outcomes(3)
    rows = spread.rows.assign(test_accuracy=[0.1, 0.3, 0.5, 0.2, 0.2, 0.4])
    spread = prediction.Spread(rows)
    assert spread.values("test_accuracy", 2, best=True).tolist() == [0.3, 0.5, 0.4]
    assert spread.values("test_loss", 2, best=True).tolist() == [0.0, 1.0, 2.0]
    assert spread.values("test_loss", 3, best=True).empty


def test_one_outlier_of_twenty_is_left_out():
    values = KNOWN.copy()
    values[5] = 30.0
    found = one_more(0.0, known=values)
    assert (found.n, found.outliers, len(found.outcomes)) == (19, (5,), 20)
    assert found.scale == pytest.approx(one_more(0.0, known=KNOWN.drop(5)).scale)
    assert one_more(3.0, known=values).verdict == DIFFERS
    # What one of 20 runs did, one of 20 others may do: p = 2 / 21.
    near = one_more(29.0, known=values)
    assert near.p == pytest.approx(2 / 21)
    half = near.half_width
    assert near.ranges[1] == pytest.approx((30 - half, 30 + half))
    far = one_more(26.0, known=values)
    assert (far.verdict, len(far.ranges)) == (DIFFERS, 1)
    # Where three of 20 are far away, that is how the program varies.
    values[:3] = 30.0
    assert one_more(0.0, known=values).outliers == ()


def test_runs_of_another_program_judge_alone():
    for runs in (by_seed([6.0, 6.1, 5.9], 20), by_seed([-9.0, 0.0, 9.0], 20)):
        found = judge(Claim(float(runs.mean())), runs, KNOWN)
        assert (found.n, found.why) == (3, ("other_program",))
    found = judge(Claim(6.0), by_seed([6.0], 20), KNOWN)
    assert (found.verdict, found.why) == (NOT_COMPARABLE, ("other_program",))
    assert judge(Claim(0.0), by_seed([2.5], 20), KNOWN).why == ()
    same = pd.Series([1.0] * 20)
    assert judge(Claim(1.0), by_seed([1.0, 1.1], 20), same).verdict == NOT_COMPARABLE
    assert judge(Claim(1.0), by_seed([1.0, 1.0], 20), same).verdict == HOLDS
    assert judge(Claim(1.1), by_seed([1.0, 1.0], 20), same).verdict == DIFFERS


def test_numbers_of_one_run_are_adjusted_together():
    """A number differs exactly where it lies outside of an interval that no published number changes."""
    alone = [one_more(value, 2.0) for value in (3.2, 2.7, 0.1)]
    found = adjusted(alone)
    assert [one.p for one in found] == pytest.approx([3 * alone[0].alone, 3 * alone[1].alone, 1.0])
    assert [one.verdict for one in alone] == [DIFFERS, DIFFERS, HOLDS]
    assert [one.verdict for one in found] == [DIFFERS, CONSISTENT, HOLDS]
    for one in found:
        assert (one.verdict == DIFFERS) is not (one.low <= one.claim.value <= one.high)
    others = adjusted([one_more(value) for value in (-9.0, 0.0, 9.0)])
    assert len({(one.low, one.high) for one in (*found, *others)}) == 1


def test_a_run_differs_in_bonferronis_numbers_exactly_when_in_holms():
    """So that the step-down method, whose levels depend on the other numbers, would change no run."""
    for seed in range(200):
        drawn = np.random.default_rng(seed).normal(0, 1.5, 3)
        alone = [one_more(value) for value in drawn]
        by_holm = min(holm([one.alone for one in alone])) <= 0.05
        assert by_holm is (DIFFERS in [one.verdict for one in adjusted(alone)])


def outcomes(count=20):
    """A spread with one metric at two epochs, which are equal but for a constant."""
    values = np.arange(count) - (count - 1) / 2
    rows = [
        {"workload": "w", "seed": seed, "epoch": epoch, "test_loss": value + epoch}
        for seed, value in enumerate(values)
        for epoch in (1, 2)
    ]
    return prediction.Spread(pd.DataFrame(rows))


def test_all_rows_together_are_ranked_among_runs():
    keys = [("test_loss", 1), ("test_loss", 2)]
    assert outcomes().inside(dict(zip(keys, (1.0, 2.0), strict=True))) == ([], 21, 21)
    # Deviation 5.9161: 2.093024 x 5.9161 x sqrt(1.05) = 12.69 around 1 and 2.
    assert outcomes().inside(dict(zip(keys, (13.6, 14.8), strict=True)))[0] == [("test_loss", 2)]
    assert outcomes().inside(dict(zip(keys, (50.0, 50.0), strict=True))) == (keys, 1, 21)


def test_spread_of_runs_and_back(tmp_path):
    made = [*with_accuracy([0.8, 0.9]), make_record(seed=7, status="diverged")]
    rows = prediction.spread_of(*tabulated(made))
    assert len(rows) == 2 * 5
    rows.to_csv(tmp_path / "spread.csv", index=False)
    (one,) = prediction.read_spreads(tmp_path / "spread.csv").values()
    assert one.values("test_accuracy", 5).to_dict() == {0: 0.8, 1: 0.9}
    assert one.values("test_accuracy", 6).empty
    assert one.backend == "torch"
    assert one.fits(tabulated(made)[1])
    assert not one.fits(tabulated(with_accuracy([0.8], global_batch=500))[1])
    runs, epochs = tabulated(made)
    files = Drawing(tmp_path, runs=runs, epochs=epochs).table("spread")
    assert "0.8500 ± 0.0707" in files["markdown"].read_text()


def test_an_outlier_is_read_from_the_file_of_a_table(tmp_path):
    """Seeds of tables are integers of pandas, which may be missing."""
    values = KNOWN.set_axis(KNOWN.index.astype("Int64"))
    values[5] = 30.0
    run = verdicts.PublishedRun("theirs", "fashion-cnn", "PyTorch", (one_more(0.0, known=values),))
    table = tables.TextTable(pd.DataFrame(), "", [], pd.DataFrame(), published_runs=[run])
    tables.save(table, [tmp_path / "table.json"])
    (found,) = answers.read_table(tmp_path / "table.json")
    assert found.numbers[0].outliers == (5,)


def test_table_names_judge_family_and_what_lies_inside(tmp_path):
    made = with_accuracy([0.8700, 0.8720, 0.8710]) + with_accuracy([0.2], backend="torch-xla")
    runs, epochs = tabulated(made)
    drawing = Drawing(tmp_path, runs=runs, epochs=epochs)
    files = drawing.table("comparison", "tpu_fashion_conv")
    table = pd.read_csv(files["csv"])
    outcome = table[table["metric"].isin(prediction.OUTCOMES)]
    assert set(outcome["judge"]) == {"PyTorch"}
    assert table["family"].fillna("").drop_duplicates().tolist() == ["final", "", "curve"]
    of_training = table[table["metric"] == "train_accuracy"]
    assert of_training["epoch"].max() == 5
    assert of_training["verdict"].isna().all()
    final = table[table["family"] == "final"].set_index("metric")
    assert sorted(final.index) == sorted(verdicts.FINAL)
    assert final.loc["test_accuracy", ["verdict", "n"]].tolist() == [DIFFERS, 20]
    (run,) = answers.read_table(files["cells"])
    assert (run.verdict, run.judge) == (DIFFERS, "PyTorch")
    assert [one.claim.metric for one in run.numbers] == [*final.index]
    assert [one.p for one in run.numbers] == final["p"].tolist()
    markdown = files["markdown"].read_text()

    assert "pixels" in markdown  # a flaw of the source
    assert not re.search(r"\.s0\.", markdown)  # names of runs are too long for a page
