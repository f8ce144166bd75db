"""Epoch time and speed-up: what is drawn is what the records say, and what forbids a comparison."""

import itertools

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_experiments import mobilenet, of_cell
from make_records import speed
from matplotlib.collections import PathCollection

from paragone.reporting.figures import epoch_time
from paragone.reporting.footnotes import SHARED_CORES as SHARED
from paragone.reporting.marks import BAR_GAP, NO_REFERENCE, places

BESIDE = "mirrored_mobilenet"


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    return Drawing.of(tmp_path_factory.mktemp("epoch_time"), mobilenet())


@pytest.fixture(scope="module")
def shown(drawing):
    return drawing.shown("epoch_time", BESIDE)


def test_epoch_times_are_extrapolated_from_the_records(drawing, shown):
    rows, made = shown, drawing.made
    medians = rows[(rows["panel"] == "measured") & (rows["kind"] == "median")]
    here = medians[(medians["series"] == "PyTorch") & medians["x"].str.contains("batch 64")]
    seconds = [23_262 / speed(one) for one in of_cell(made, "torch", 1, 64)]
    assert here["value"].item() == pytest.approx(np.median(seconds))
    assert (here["low"].item(), here["high"].item()) == pytest.approx((min(seconds), max(seconds)))
    assert here["extrapolated"].item()
    runs = rows[(rows["panel"] == "measured") & (rows["kind"] == "run")].set_index("runs")["value"]
    assert len(runs) == 18
    for one in made:
        if one["status"] == "completed":
            assert runs[one["run"]] == pytest.approx(23_262 / speed(one))


def test_speed_up_pairs_seeds(drawing, shown):
    rows, made = shown, drawing.made
    here = rows[(rows["panel"] == "speed_up") & (rows["series"] == "PyTorch/XLA SPMD")]
    one, two = (of_cell(made, "torch-xla", count, 64) for count in (1, 2))
    ratios = [speed(b) / speed(a) for a, b in zip(one, two, strict=True)]
    assert sorted(here.loc[here["kind"] == "run", "value"]) == pytest.approx(sorted(ratios))
    published = rows[(rows["panel"] == "speed_up") & (rows["kind"] == "published")]
    assert published["value"].tolist() == pytest.approx([150 / 36, 150 / 30])


def test_cells_without_epoch_time_have_the_reason(drawing, shown):
    rows = shown[shown["kind"] == "words"]
    words = rows.set_index(["panel", "series", "x"])["words"].to_dict()
    assert words == {
        (panel, "PyTorch/XLA SPMD", "2 replicas, batch 256"): "out of memory (all 3 runs)"
        for panel in ("measured", "speed_up")
    }
    assert "out of memory (all 3 runs)" in texts_of(drawing.figure("epoch_time", BESIDE))


@pytest.mark.parametrize(
    ("shape", "device", "said"),
    [
        ("224 x 224 x 3", "gpu", ["Published on other hardware: compare the speed-up, not the seconds."]),
        ("224 x 224 x 3", "cpu", [SHARED, "Published on other hardware."]),
        ("64 x 64 x 3", "cpu", [SHARED, "Published on other hardware.",
                                "Inputs of 64 x 64 x 3, published 224 x 224 x 3."]),
    ],
)  # fmt: skip
def test_what_forbids_a_comparison_is_said(drawing, shown, tmp_path, shape, device, said):
    runs = drawing.runs.assign(input_shape=shape, device=device)
    other = Drawing(tmp_path, runs=runs, epochs=drawing.files["epochs"])
    remarks = epoch_time.remarks(shown, other.inputs(BESIDE))
    assert remarks[: len(said)] == said
    assert remarks[len(said)].startswith("Measured: ")


def test_what_was_not_run_takes_no_room():
    rows = pd.DataFrame({"series": ["A", "B", "A", "A"], "x": ["1", "1", "2", "1"]})
    centers, middles, end = places(rows, ["A", "B"])
    assert centers.tolist() == [0.5, 1.5, 2 + BAR_GAP + 0.5, 0.5]
    assert middles == {"1": 1, "2": 2 + BAR_GAP + 0.5}
    assert end == 3 + BAR_GAP


def test_a_whole_epoch_is_measured_not_extrapolated(tmp_path):
    made = mobilenet(1, epochs=3, steps_per_epoch=None)
    rows = Drawing.of(tmp_path, made).shown("epoch_time")
    here = rows[(rows["panel"] == "measured") & (rows["series"] == "PyTorch")]
    (one,) = of_cell(made, "torch", 1, 64)
    later = [epoch["train_seconds"] for epoch in one["epochs"][1:]]
    median = here[here["kind"] == "median"].iloc[0]
    assert median["value"] == pytest.approx(np.mean(later))
    assert not median["extrapolated"]


def test_a_speed_up_without_its_one_replica_has_the_reason(tmp_path):
    made = [
        one
        for one in mobilenet(1)
        if (one["spec"]["backend"]["name"], one["spec"]["replicas"]) != ("torch-xla", 1)
    ]
    rows = Drawing.of(tmp_path, made).shown("epoch_time", BESIDE)
    here = rows[(rows["panel"] == "speed_up") & (rows["series"] == "PyTorch/XLA SPMD")]
    assert len(here) == 2
    assert set(here["words"]) == {"1 replica not run"}
    assert set(here["kind"]) == {NO_REFERENCE}


def test_bars_do_not_overlap_and_runs_are_over_their_own(drawing, shown):
    panels = drawing.figure("epoch_time", BESIDE).axes
    for axes, panel in zip(panels, ("published", "measured", "speed_up"), strict=True):
        rows = shown[shown["panel"] == panel]
        bars = [one for one in axes.patches if one.get_height()]
        medians = rows.loc[rows["kind"].isin(["published", "median"]), "value"]
        assert sorted(bar.get_height() for bar in bars) == pytest.approx(sorted(medians))
        edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(edges))
        dots = [one for one in axes.collections if isinstance(one, PathCollection)]
        drawn = [tuple(point) for one in dots for point in one.get_offsets()]
        assert sorted(y for _, y in drawn) == pytest.approx(
            sorted(rows.loc[rows["kind"] == "run", "value"])
        )
        for x, _ in drawn:
            assert any(left < x < right for left, right in edges)
