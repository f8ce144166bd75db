"""Verdicts on variants timed in turn: contests are the unit, and what is not proven has no speed."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from workspace import CONFIG, ROOT

from paragone.analysis.contests import COLUMNS, effects, pairs
from paragone.base.errors import UserError
from paragone.config.expand import expand, timed_in_turn
from paragone.config.plan import Plan

ASKED = {
    "workload": "fashion-cnn",
    "repeats": 2,
    "contests": 3,
    "matrix": [
        {"backend": ["torch", "jax"], "replicas": 1, "global_batch": [64, 128]},
        {"backend": "torch", "replicas": 1, "global_batch": 256},
    ],
}
LABELS = {"torch": "PyTorch", "jax": "JAX"}


def table(speeds: dict[str, list[list[float]]], machine: str = "one") -> pd.DataFrame:
    """Windows of variants: backend -> speeds by contest and round, in examples/s."""
    rows = [
        {
            "run": "question",
            "workload": "fashion-cnn",
            "backend": backend,
            "global_batch": 128,
            "replicas": 1,
            "precision": "float32",
            "tuning": "as-installed",
            "dataset": "fashion_mnist",
            "data_source": "real",
            "data_edition": "official",
            "machine": machine,
            "machine_name": machine,
            "contest": contest,
            "round": number,
            "examples_per_second": speed,
        }
        for backend, contests in speeds.items()
        for contest, rounds in enumerate(contests, start=1)
        for number, speed in enumerate(rounds, start=1)
    ]
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS]).astype(COLUMNS)


def test_the_effect_of_a_contest_is_the_median_over_its_rounds():
    found = effects(table({"torch": [[100, 200, 100]], "jax": [[50, 50, 50]]}), LABELS)
    assert found["effect"].tolist() == pytest.approx([np.log(2)])
    assert found["rounds"].tolist() == [3]


def test_a_round_that_one_variant_lacks_is_left_out():
    windows = table({"torch": [[100, None, 300]], "jax": [[100, 100, 100]]})
    assert effects(windows, LABELS)["rounds"].tolist() == [2]


def test_contests_are_the_unit():
    """A hundred rounds of two contests decide no more than their two medians."""
    few = pairs(effects(table({"torch": [[110], [150]], "jax": [[100], [100]]}), LABELS))
    many = pairs(
        effects(table({"torch": [[110] * 50, [150] * 50], "jax": [[100] * 50] * 2}), LABELS)
    )
    columns = ["contests", "ratio", "low", "high", "relation"]
    assert few[columns].equals(many[columns])
    assert many["rounds"].tolist() == [100]


@pytest.mark.parametrize(
    ("torch", "relation"),
    [
        ([120, 121, 119, 120, 122], "faster"),
        ([80, 81, 79, 80, 82], "slower"),
        ([101, 100, 99, 100, 101], "equal"),
        ([140, 90, 120, 85, 130], "undecided"),
    ],
)
def test_verdicts(torch, relation):
    windows = table({"torch": [[speed] for speed in torch], "jax": [[100]] * 5})
    (row,) = pairs(effects(windows, LABELS)).to_dict("records")
    assert row["relation"] == relation
    assert row["low"] < row["ratio"] < row["high"]


def test_one_contest_decides_nothing():
    (row,) = pairs(effects(table({"torch": [[200]], "jax": [[100]]}), LABELS)).to_dict("records")
    assert row["relation"] == "undecided"
    assert np.isnan(row["low"])


def test_machines_are_kept_apart():
    both = pd.concat(
        [
            table({"torch": [[200]] * 3, "jax": [[100]] * 3}, "one"),
            table({"torch": [[100]] * 3, "jax": [[200]] * 3}, "two"),
        ]
    )
    rows = pairs(effects(both, LABELS))
    assert dict(zip(rows["machine"], rows["ratio"], strict=True)) == pytest.approx(
        {"one": 2, "two": 0.5}
    )


def test_few_false_verdicts_where_variants_are_equal():
    """200 questions of four equal variants, whose contests differ by heavy tails: about 5 % err at most."""
    random = np.random.default_rng(0)
    wrong, questions = 0, 200
    for _ in range(questions):
        logs = 0.03 * random.standard_t(3, size=(4, 6))
        found = pd.DataFrame(
            [
                {
                    "workload": "w",
                    "global_batch": 1,
                    "machine": "m",
                    "first": f"{first}",
                    "second": f"{second}",
                    "contest": contest,
                    "rounds": 1,
                    "effect": logs[first, contest] - logs[second, contest],
                }
                for first in range(4)
                for second in range(first + 1, 4)
                for contest in range(6)
            ]
        )
        wrong += pairs(found)["relation"].isin(["faster", "slower"]).any()
    assert wrong <= 0.08 * questions  # of 200: 5 % and two standard deviations


def test_variants_of_one_work_and_precision_are_timed_together():
    config = {**CONFIG, "seed": 0, "experiments": {"asked": ASKED}}
    asked = timed_in_turn(config, "asked", expand(config, "asked"))
    assert [question.contests for question in asked] == [3, 3]
    assert [
        (spec.global_batch, sorted(spec.backend.name for spec in question.variants))
        for question in asked
        for spec in question.variants[:1]
    ] == [(64, ["jax", "torch"]), (128, ["jax", "torch"])]
    assert {spec.seed for question in asked for spec in question.variants} == {0}
    others = [
        {**config, "contest": {**CONFIG["contest"], key: value}}
        for key, value in (("rounds", 7), ("window_seconds", 2), ("minutes", 60))
    ]
    names = {timed_in_turn(each, "asked", expand(each, "asked"))[0].name for each in others}
    assert len({asked[0].name, *names}) == 4


def test_the_figure_shows_every_window_and_why_a_variant_has_none(tmp_path):
    windows = table({"torch": [[100, 110], [120, 90]], "jax": [[None]]})
    windows.loc[windows["backend"] == "jax", "status"] = "out_of_memory"
    drawing = Drawing(tmp_path, rounds=windows)
    shown = drawing.shown("rounds")
    drawn = shown.dropna(subset="examples_per_second")
    assert drawn["turn"].tolist() == [1, 2, 3, 4]
    assert drawn["examples_per_second"].tolist() == [100, 110, 120, 90]
    windows.loc[0, ["busy", "other_cpu_share"]] = True, 0.4
    text = texts_of(Drawing(tmp_path, rounds=windows).figure("rounds"))
    assert "out of memory" in text
    assert "others used up to 40 % of it during 1 of 5 windows" in text


def test_what_shows_contests_needs_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"title": "t", "published": "", "tables": [], "figures": ["rounds"], **ASKED}
    config = {**deepcopy(CONFIG), "experiments": {"asked": asked}}
    config["primary"]["experiment"] = "asked"
    assert Plan(deepcopy(config), ROOT).sections["asked"]["figures"] == ["rounds"]
    asked["contests"] = 0
    with pytest.raises(UserError, match=r"add contests: 3 to experiments\.asked"):
        Plan(deepcopy(config), ROOT)
    alone = Plan(deepcopy({**config, "records_only": True}), ROOT)
    assert alone.sections["asked"]["figures"] == []
    assert any("rounds" in notice for notice in alone.notices)
