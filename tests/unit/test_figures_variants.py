"""Variants relative to the baseline: what is drawn are the ratios of the records' runs."""

import numpy as np
import pytest
from draw_figures import Drawing
from make_records import make_record, speed

from paragone.base.errors import UserError
from paragone.reporting.figures import variants

TUNED = {"variables": {"MALLOC_TOP_PAD_": "1"}}
CELLS = [("torch", None), ("torch", TUNED), ("tensorflow-mirrored", None)]
SPEEDS = (1000.0, 2000.0, 1500.0)


def made(host: str = "node-1", factor: float = 1.0) -> list[dict]:
    """Seven runs of each cell with a known speed, and a variant whose device is absent."""
    found = [
        make_record(
            backend,
            seed=seed,
            tuning=tuning,
            speed=factor * value * (1 + 0.01 * (seed % 3)),
            host=host,
        )
        for (backend, tuning), value in zip(CELLS, SPEEDS, strict=True)
        for seed in range(7)
    ]
    return [*found, make_record("tensorflow-tpu", status="unavailable", host=host)]


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    one = Drawing.of(tmp_path_factory.mktemp("variants"), made())
    one.settings = {"baseline": "torch"}
    return one


@pytest.mark.filterwarnings("error")
def test_each_dot_is_the_ratio_of_a_pair(drawing):
    shown = drawing.shown("variants")
    by_run = {one["run"]: one for one in drawing.made}
    ratios = shown.dropna(subset="value")
    assert ratios.groupby("series").size().to_dict() == {
        "PyTorch": 7,
        "PyTorch (tuned)": 7,
        "TensorFlow Mirrored": 7,
    }
    for row in ratios[ratios["series"] == "PyTorch (tuned)"].to_dict("records"):
        runs = [by_run[name] for name in row["runs"].split()]
        tuned, plain = sorted(runs, key=lambda one: not one["spec"]["tuning"])
        assert tuned["spec"]["seed"] == plain["spec"]["seed"]
        assert row["value"] == pytest.approx(speed(tuned) / speed(plain))
    mean = ratios.set_index("series")["mean"]
    assert mean["PyTorch"].unique().tolist() == [1.0]
    assert np.allclose(mean["PyTorch (tuned)"], 2, rtol=0.02)
    assert np.allclose(mean["TensorFlow Mirrored"], 1.5, rtol=0.02)


def test_the_best_is_on_top_and_what_did_not_run_is_below(drawing):
    rows = [label.get_text() for label in drawing.figure("variants").axes[0].get_yticklabels()]
    assert [one.replace("\n", " ") for one in rows] == [
        "PyTorch (tuned)",
        "TensorFlow Mirrored",
        "PyTorch",
        "TensorFlow TPU",
    ]


def test_no_run_is_compared_with_the_baseline_of_another_machine(tmp_path):
    """The second machine is three times as fast; each variant keeps its ratio on both."""
    both = Drawing.of(tmp_path, [*made(), *made("node-2", 3.0)])
    both.settings = {"baseline": "torch"}
    shown = both.shown("variants")
    ratios = shown.dropna(subset="value")
    assert sorted(work.split(", ")[2][:6] for work in set(ratios["work"])) == ["node-1", "node-2"]
    assert set(ratios["baseline"]) == {"PyTorch"}
    for _, here in ratios.groupby("work"):
        means = here.groupby("series")["mean"].first()
        assert means.to_dict() == pytest.approx(
            {"PyTorch": 1, "PyTorch (tuned)": 2, "TensorFlow Mirrored": 1.5}, rel=0.02
        )


def test_a_missing_baseline_names_the_key(drawing, tmp_path):
    other = Drawing.of(tmp_path, [one for one in made() if one["spec"]["tuning"]])
    other.settings = {"baseline": "torch"}
    with pytest.raises(
        UserError, match=r"^baseline: torch does not train fashion-conv at batch 1,000"
    ):
        variants.points(other.inputs())
