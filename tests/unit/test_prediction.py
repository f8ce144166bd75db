"""The committed spread, judgements from it, and the families of published rows."""

import re

import numpy as np
import pandas as pd
import pytest
from judge_rows import FOLDER, REUTERS, of, tabulated, with_accuracy
from make_records import make_record
from make_tables import beside, write

from paragone.analysis import published, verdicts
from paragone.analysis.prediction import DIFFERS, REPRODUCED, UNDECIDED, Judgement, judge
from paragone.analysis.statistics import holm

NONE = pd.Series(dtype=float)
KNOWN = pd.Series(
    np.tile([-1.0, 1.0], 10)
)  # 20 runs, deviation sqrt(20 / 19) = 1.02598; t(19) = 2.093024


def test_a_prediction_interval_by_hand():
    found = judge(0.5, pd.Series([0.0, 0.0]), 3.0, KNOWN)
    assert found.difference == 0.5
    assert found.half_width == pytest.approx(2.093024 * 1.02598 * 1.5**0.5, 1e-5)  # 2.6300
    assert found.verdict == REPRODUCED
    assert judge(found.half_width, pd.Series([0.0, 0.0]), 3.0, KNOWN).p == pytest.approx(0.05)
    assert judge(2.62, pd.Series([0.0, 0.0]), 1.0, KNOWN).verdict == UNDECIDED
    assert judge(2.64, pd.Series([0.0, 0.0]), 1.0, KNOWN).verdict == DIFFERS


def test_runs_that_vary_more_than_the_spread_are_not_judged_by_it():
    # F = variance of the two over 20 / 19; with 1 and 19 degrees of freedom 0.1 % is at 15.08: 5.634.
    for distance, why in ((5.62, ()), (5.65, ("other_spread",))):
        found = judge(0.0, pd.Series([-distance / 2, distance / 2]), 9.0, KNOWN)
        assert (found.verdict, found.why) == (UNDECIDED if why else REPRODUCED, why)
    same = pd.Series([1.0] * 20)
    assert judge(1.0, pd.Series([1.0, 1.1]), 9.0, same).verdict == UNDECIDED
    assert judge(1.0, pd.Series([1.0, 1.0]), 9.0, same).verdict == REPRODUCED


def test_a_wide_interval_makes_no_chance_of_what_is_better():
    runs = pd.Series([0.4, 0.6, 0.8])  # h = 4.302653 x 0.2 x sqrt(4 / 3) = 0.99
    assert judge(0.6, runs, 0.02, NONE, chance=0.5).verdict == UNDECIDED
    assert judge(0.6, runs, 0.02, NONE, chance=0.59).verdict == verdicts.AT_CHANCE


def test_the_runs_that_would_decide():
    # h of 4 runs: 2.093024 x 1.02598 x sqrt(1 + 1 / 4) = 2.4009; of 3 2.4797.
    found = judge(0.0, pd.Series([0.0]), 2.41, KNOWN)
    assert (found.verdict, found.needed) == (UNDECIDED, 4)
    assert judge(0.0, pd.Series([0.0] * 3), 2.41, KNOWN).needed == 4
    assert judge(0.0, pd.Series([0.0] * 4), 2.41, KNOWN).verdict == REPRODUCED
    assert judge(0.0, pd.Series([0.0]), 2.1, KNOWN).needed is None  # of 100 runs still 2.158
    # Without a spread, of the bound of a deviation that is only estimated: here 0.1 x 2.117.
    found = judge(0.0, pd.Series([-0.1, 0.0, 0.1]), 0.449, NONE)
    assert found.needed == 23  # t(22) = 2.073873: 0.2117 x 2.073873 x sqrt(24 / 23) = 0.4485


def finding(verdict, p):
    return verdicts.Finding(verdict, judgement=Judgement(verdict, 1.0, 1.0, p))


def test_primary_rows_are_adjusted_together():
    found = verdicts.adjusted([finding(DIFFERS, 0.01), finding(DIFFERS, 0.03), finding("", 0.9)])
    assert holm([0.01, 0.03, 0.9]) == pytest.approx([0.03, 0.06, 0.9])
    assert [one.verdict for one in found] == [DIFFERS, UNDECIDED, ""]
    assert found[1].reasons == (("adjusted", 3, pytest.approx(0.06)),)
    none = verdicts.Finding(verdicts.NOT_COMPARABLE)
    assert verdicts.adjusted([finding(DIFFERS, 0.02), none, none])[0].verdict == UNDECIDED


def test_primary_rows_are_the_last_of_each_system():
    found = verdicts.primary(of(REUTERS)[0])
    assert len(found) == 3  # systems that trained
    for rows in found.values():
        assert [row.metric for row in rows] == list(verdicts.PRIMARY)
        assert len({row.epoch for row in rows}) == 1
    (rows,) = verdicts.primary(of("tpu_fashion_conv")[0]).values()
    assert [row.epoch for row in rows] == [5, 5, 5]
    assert verdicts.primary(of("xla_fashion_cnn")[0]) == {}  # its one accuracy is a bound


def outcomes(count=20):
    """A spread with one metric at two epochs, which are equal but for a constant."""
    values = np.arange(count) - (count - 1) / 2
    rows = [
        {"workload": "w", "seed": seed, "epoch": epoch, "test_loss": value + epoch}
        for seed, value in enumerate(values)
        for epoch in (1, 2)
    ]
    return published.Spread(pd.DataFrame(rows))


def test_all_rows_together_are_ranked_among_runs():
    keys = [("test_loss", 1), ("test_loss", 2)]
    assert outcomes().inside(dict(zip(keys, (1.0, 2.0), strict=True))) == (2, 1.0)
    # Deviation 5.9161: 2.093024 x 5.9161 x sqrt(1.05) = 12.69 around 1 and 2.
    assert outcomes().inside(dict(zip(keys, (13.6, 14.8), strict=True)))[0] == 1
    count, share = outcomes().inside(dict(zip(keys, (50.0, 50.0), strict=True)))
    assert (count, share) == (0, pytest.approx(1 / 21))


def test_spread_of_runs_and_back(tmp_path):
    made = [*with_accuracy([0.8, 0.9]), make_record(seed=7, status="diverged")]
    rows = published.spread_of(*tabulated(made))
    assert len(rows) == 2 * 5
    rows.to_csv(tmp_path / "spread.csv", index=False)
    (one,) = published.read_spreads(tmp_path / "spread.csv").values()
    assert one.values("test_accuracy", 5).to_dict() == {0: 0.8, 1: 0.9}
    assert one.values("test_accuracy", 6).empty
    assert one.backend == "torch"
    assert one.fits(tabulated(made)[1])
    assert not one.fits(tabulated(with_accuracy([0.8], global_batch=500))[1])
    runs, epochs = tabulated(made)
    files = write(tmp_path, "spread", runs=runs, epochs=epochs)
    assert len(pd.read_csv(files["csv"])) == 10
    assert "0.8500 ± 0.0707" in files["markdown"].read_text()


def test_the_committed_files_cover_what_is_judged():
    folder = FOLDER
    margins = published.read_margins(folder / "margins.csv")
    assert set(published.OUTCOMES) < set(margins)
    for name, one in published.read_spreads(folder / "spread.csv").items():
        assert not one.rows.isna().any().any()
        by_epoch = one.rows.groupby("epoch")
        assert by_epoch["seed"].agg(["nunique", "size"]).nunique().tolist() == [1, 1]
        assert by_epoch["final_weights"].nunique().min() == one.rows["seed"].nunique(), name


def test_table_names_judge_family_and_what_lies_inside(tmp_path):
    made = with_accuracy([0.8848, 0.8850]) + with_accuracy([0.2], backend="torch-xla")
    runs, epochs = tabulated(made)
    files = write(tmp_path, "comparison", *beside("tpu_fashion_conv"), runs=runs, epochs=epochs)
    table = pd.read_csv(files["csv"])
    outcome = table[table["metric"].isin(published.OUTCOMES)]
    assert set(outcome["judge"]) == {"PyTorch"}
    primary = table[table["family"] == "primary"]
    assert sorted(primary["metric"]) == sorted(verdicts.PRIMARY)
    final = table[(table["metric"] == "test_accuracy")].iloc[0]
    assert (final["verdict"], final["difference"]) == (REPRODUCED, pytest.approx(-0.0001))
    assert final["why"].startswith("PyTorch: ")
    markdown = files["markdown"].read_text()
    assert "published outcomes are where one more of the" in markdown
    assert "pixels" in markdown  # a flaw of the source
    assert not re.search(r"\.s0\.", markdown)  # names of runs are too long for a page
    judged = table[table["n"].notna()]
    assert (judged["runs"].str.split().str.len() >= judged["n"].astype(float)).all()
