"""Variants relative to the baseline: what is drawn are the ratios of the records' runs."""

from pathlib import Path

import numpy as np
import pytest
from draw_figures import Drawing
from make_records import TUNED, make_record, speed

from paragone.base.errors import UserError
from paragone.reporting.figures import variants

CELLS = [("torch", None, 1e3), ("torch", TUNED, 2e3), ("tensorflow-mirrored", None, 1.5e3)]


def made(host: str = "node-1", factor: float = 1.0) -> list[dict]:
    """Seven runs of each cell with a known speed, and a variant whose device is absent."""
    found = [make_record("tensorflow-tpu", status="unavailable", host=host)]
    for backend, tuning, value in CELLS:
        for seed in range(7):
            quick = factor * value * (1 + 0.01 * (seed % 3))
            found.append(make_record(backend, seed=seed, tuning=tuning, speed=quick, host=host))
    return found


def drawn(folder: Path, made: list[dict]) -> Drawing:
    """Beside PyTorch."""
    drawing = Drawing.of(folder, made)
    drawing.settings = {"baseline": "torch"}
    return drawing


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    return drawn(tmp_path_factory.mktemp("variants"), made())


@pytest.mark.filterwarnings("error")
def test_each_dot_is_the_ratio_of_a_pair(drawing):
    shown = drawing.shown("variants")
    by_run = {one["run"]: one for one in drawing.made}
    ratios = shown.dropna(subset="value")
    names = ["PyTorch", "PyTorch (tuned)", "TensorFlow Mirrored"]
    assert ratios.groupby("series").size().to_dict() == dict.fromkeys(names, 7)
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
    shown = drawn(tmp_path, [*made(), *made("node-2", 3.0)]).shown("variants")
    ratios = shown.dropna(subset="value")
    assert sorted(work.split(", ")[2][:6] for work in set(ratios["work"])) == ["node-1", "node-2"]
    assert set(ratios["baseline"]) == {"PyTorch"}
    for _, here in ratios.groupby("work"):
        means = here.groupby("series")["mean"].first()
        assert means.to_dict() == pytest.approx(
            {"PyTorch": 1, "PyTorch (tuned)": 2, "TensorFlow Mirrored": 1.5}, rel=0.02
        )


def test_a_missing_baseline_names_the_key(drawing, tmp_path):
    other = drawn(tmp_path, [one for one in made() if one["spec"]["tuning"]])
    said = r"^baseline: fashion-conv, batch 1,000 has no run of torch in float32"
    with pytest.raises(UserError, match=said):
        variants.points(other.inputs())
