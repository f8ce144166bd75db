"""Epoch time and speed-up: what is drawn is what the records say, and what forbids a comparison."""

import numpy as np
import pandas as pd
import pytest
from draw_figures import PUBLISHED, Drawing, texts_of
from make_experiments import mobilenet, multiworker, of_cell, speed
from make_records import LABELS, PALETTE
from matplotlib.figure import Figure

import plot_epoch_time
from paragone.analysis import published
from paragone.reporting.drawing import style
from paragone.reporting.drawing.bars import COLUMNS, NO_REFERENCE, NOT_RUN, draw_bars

BESIDE = ["--published-experiment", "mirrored_mobilenet"]
SHARED = "Replicas share the cores of one machine."


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    return Drawing(tmp_path_factory.mktemp("epoch_time"), mobilenet())


@pytest.fixture(scope="module")
def shown(drawing):
    return drawing.draw("epoch_time", *BESIDE)[1]


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


def test_cells_without_epoch_time_stand_in_words(drawing, shown):
    rows = shown
    words = rows[rows["kind"] == "words"].set_index(["panel", "series", "x"])["words"].to_dict()
    large, small = "2 replicas\nbatch 256", "2 replicas\nbatch 64"
    assert words == {
        ("measured", "PyTorch/XLA SPMD", large): "out of memory (all 3 runs)",
        ("speed_up", "PyTorch/XLA SPMD", large): "out of memory (all 3 runs)",
        **{(panel, "PyTorch", x): "not run"
           for panel in ("measured", "speed_up") for x in (small, large)},
    }  # fmt: skip
    remarks = plot_epoch_time.remarks(rows, drawing.runs, drawing.epochs, {})
    figure = plot_epoch_time.draw(
        rows.assign(key=rows["x"]).fillna({"words": ""}),
        drawing.runs, LABELS, PALETTE, "t", remarks,
    )  # fmt: skip
    text = texts_of(figure)
    assert "out of memory (all 3 runs)" in text
    assert "extrapolated from the steady throughput of epochs of 128 or more" in text


@pytest.mark.parametrize(
    ("shape", "device", "told"),
    [
        ("224 x 224 x 3", "gpu", ["Published on other hardware: compare the speed-up, not the seconds."]),
        ("224 x 224 x 3", "cpu", [SHARED, "Published on other hardware."]),
        ("64 x 64 x 3", "cpu", [SHARED, "Published on other hardware.",
                                "Inputs of 64 x 64 x 3, published 224 x 224 x 3."]),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_of_a_speed_up_is_said(drawing, shown, shape, device, told):
    protocols = published.read_protocols(PUBLISHED / "protocols.csv", "mirrored_mobilenet")
    runs = drawing.runs.assign(input_shape=shape, device=device)
    remarks = plot_epoch_time.remarks(shown, runs, drawing.epochs, protocols)
    assert remarks[: len(told)] == told
    assert remarks[len(told)].startswith("Measured: ")


def test_a_reference_that_was_not_run_is_no_alarm():
    words = [{"panel": "a", "series": "A", "x": "1", "kind": "words", "words": told}
             for told in (NOT_RUN, NO_REFERENCE, "diverged")]  # fmt: skip
    colors = []
    for row in words:
        axes = Figure().subplots()
        draw_bars(axes, pd.DataFrame([row]).reindex(columns=COLUMNS), ["1"], {"A": "red"}, 0)
        colors.append(axes.texts[0].get_color())
    assert colors == [style.MUTED, style.MUTED, style.ALARM]


def test_a_whole_epoch_is_measured_not_extrapolated(tmp_path):
    made = mobilenet(1, epochs=3, steps_per_epoch=None)
    _, rows = Drawing(tmp_path, made).draw("epoch_time")
    here = rows[(rows["panel"] == "measured") & (rows["series"] == "PyTorch")]
    (one,) = of_cell(made, "torch", 1, 64)
    later = [epoch["train_seconds"] for epoch in one["epochs"][1:]]
    median = here[here["kind"] == "median"].iloc[0]
    assert median["value"] == pytest.approx(np.mean(later))
    assert not median["extrapolated"]


def test_a_speed_up_without_its_one_replica_stands_in_words(tmp_path):
    made = [
        one
        for one in mobilenet(1)
        if (one["spec"]["backend"]["name"], one["spec"]["replicas"]) != ("torch-xla", 1)
    ]
    _, rows = Drawing(tmp_path, made).draw("epoch_time", *BESIDE)
    here = rows[(rows["panel"] == "speed_up") & (rows["series"] == "PyTorch/XLA SPMD")]
    assert len(here) == 2
    assert set(here["words"]) == {"1 replica not run"}


def test_missing_workers_are_said(tmp_path):
    drawing = Drawing(tmp_path, multiworker())
    _, rows = drawing.draw("epoch_time", "--published-experiment", "multiworker_mobilenet")
    assert set(rows.loc[rows["kind"] == "words", "words"]) == {"device not available"}
