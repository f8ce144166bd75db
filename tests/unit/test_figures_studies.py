"""Batch sizes, time to target and epoch time: what is drawn is what the records say."""

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, banners, named_runs, texts_of
from make_experiments import batch_sizes, mobilenet, of_cell, to_target
from make_records import clocks, make_record, speed, time_to_target

from paragone.reporting import style

# Figure: its records, the published experiment beside it.
STUDIES = {
    "epoch_time": (mobilenet, "mirrored_mobilenet"),
    "batch_size_throughput": (batch_sizes, "batch_size_throughput"),
    "time_to_target": (to_target, ""),
}


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    return {
        name: Drawing.of(tmp_path_factory.mktemp(name), make())
        for name, (make, _) in STUDIES.items()
    }


@pytest.fixture(scope="module")
def shown(drawings):
    return {name: one.shown(name, STUDIES[name][1]) for name, one in drawings.items()}


@pytest.mark.parametrize("figure", STUDIES)
@pytest.mark.filterwarnings("error")
def test_figures_are_as_wide_as_a_column_and_their_points_name_their_runs(drawings, shown, figure):
    assert drawings[figure].figure(figure, STUDIES[figure][1]).get_figwidth() == style.SINGLE
    rows = shown[figure]
    assert set() < named_runs(rows) <= {*drawings[figure].runs["run"]}
    medians = rows[(rows["kind"] == "median") & rows["value"].notna()]
    assert (medians["runs"].str.split().str.len() == medians["n"]).all()


@pytest.mark.parametrize("figure", STUDIES)
@pytest.mark.filterwarnings("error")
def test_one_synthetic_run_each_without_published_rows(tmp_path, figure):
    common = {"target": 0.85, "source": "synthetic", "edition": "made"}
    made = [make_record("torch", global_batch=batch, **common) for batch in (8, 64)]
    drawing = Drawing.of(tmp_path, made)
    rows = drawing.shown(figure)
    assert banners(drawing.figure(figure))
    assert rows["low"].isna().all()
    assert set(rows.loc[rows["kind"] == "median", "n"]) == {1}
    assert "published" not in set(rows["kind"])


def test_throughput_by_batch_is_that_of_the_records(drawings, shown):
    rows, made = shown["batch_size_throughput"], drawings["batch_size_throughput"].made
    medians = rows[(rows["panel"] == "measured") & (rows["kind"] == "median")]
    found = medians[(medians["series"] == "TensorFlow Mirrored") & (medians["x"] == 64)]
    speeds = [speed(one) for one in of_cell(made, "tensorflow-mirrored", 1, 64)]
    assert found["value"].item() == pytest.approx(np.median(speeds))
    chart = rows[(rows["panel"] == "published")].set_index("x")["value"].to_dict()
    assert (chart[8], chart[700], len(chart)) == (328, 1332, 8)
    relative = rows[(rows["panel"] == "relative") & (rows["x"] == 512)]
    relative = relative[relative["kind"] != "run"].set_index("series")["value"]
    assert relative["published"] == pytest.approx(1329 / 328)
    base = of_cell(made, "torch", 1, 8)
    ratios = [
        speed(b) / speed(a) for a, b in zip(base, of_cell(made, "torch", 1, 512), strict=True)
    ]
    assert relative["PyTorch"] == pytest.approx(np.median(ratios))


def test_every_try_is_a_hit_or_a_censored_miss(drawings, shown):
    rows, made = shown["time_to_target"], drawings["time_to_target"].made
    runs = rows[rows["kind"] != "median"].set_index("runs")
    tried = [one for one in made if one["status"] in ("completed", "diverged")]
    assert sorted(runs.index) == sorted(one["run"] for one in tried)
    for one in tried:
        row = runs.loc[one["run"]]
        assert row["final"] == one["epochs"][-1]["test_accuracy"]
        found = time_to_target(one)
        if found.reached:
            expected = found.last_miss, found.first_hit
            assert (row["last_miss"], row["first_hit"]) == pytest.approx(expected)
            assert (row["kind"], np.isnan(row["censored_at"])) == ("hit", True)
        else:
            assert row["censored_at"] == pytest.approx(clocks(one)["train"])
            assert row["kind"] == ("miss" if one["status"] == "completed" else "diverged")


def test_success_rates_and_medians_count_misses(drawings, shown):
    rows, made = shown["time_to_target"], drawings["time_to_target"].made
    cells = rows[rows["kind"] == "median"].set_index(["series", "global_batch"])
    small = cells.loc["PyTorch", 8]
    hits = [time_to_target(one).first_hit for one in of_cell(made, "torch", 1, 8)]
    assert (small["reached"], small["n"], small["value"]) == (3, 3, pytest.approx(np.median(hits)))
    missed = cells.loc["PyTorch", 128]
    assert (missed["reached"], missed["n"], missed["value"]) == (0, 3, np.inf)
    large = cells.loc["PyTorch", 512]
    assert (large["reached"], large["n"]) == (0, 1)
    assert large["words"] == "diverged (1 of 3 runs); out of memory (2 of 3 runs)"
    text = texts_of(drawings["time_to_target"].figure("time_to_target"))
    for words in ("3/3", "0/3", "0/1", "0.85 in 2 evaluations in a row"):
        assert words in text


def test_a_median_between_hits_and_a_miss(tmp_path):
    curves = [[0.5, 0.9, 0.9], [0.5, 0.5, 0.9], [0.5, 0.5, 0.5]]
    made = [
        make_record(seed=k, accuracies=curve, target=0.8, speed=1000.0)
        for k, curve in enumerate(curves)
    ]
    drawing = Drawing.of(tmp_path, made)
    rows = drawing.shown("time_to_target")
    cell = rows[rows["kind"] == "median"].iloc[0]
    # 60,000 examples an epoch: hits at 120 and 180 s, one miss after 180 s.
    assert (cell["value"], cell["low"], cell["high"]) == (pytest.approx(180), 120, np.inf)
    assert rows.loc[rows["kind"] == "miss", "censored_at"].tolist() == pytest.approx([180])


def test_without_parity_a_hit_counts_and_has_no_time(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch", target=0.5)], torch=False)
    rows = drawing.shown("time_to_target")
    cell = rows[rows["kind"] == "median"].iloc[0]
    assert (cell["reached"], cell["n"], pd.isna(cell["value"])) == (1, 1, True)
    assert cell["words"] == "parity not passed: no time"


def test_two_workloads_are_two_series_and_no_target_names_the_key(tmp_path, capsys):
    made = [
        make_record("torch", seed=seed, workload=workload)
        for workload in ("wide-resnet", "fashion-conv")
        for seed in range(3)
    ]
    drawing = Drawing.of(tmp_path, made)
    with pytest.raises(SystemExit):
        drawing.draw("time_to_target")
    assert "set `target`" in capsys.readouterr().err
    rows = drawing.shown("batch_size_throughput")
    medians = rows[(rows["kind"] == "median") & (rows["panel"] == "measured")]
    assert sorted(medians["series"]) == ["PyTorch (fashion conv)", "PyTorch (wide resnet)"]
    assert medians["n"].tolist() == [3, 3]


def test_epoch_times_are_extrapolated_from_the_records(drawings, shown):
    rows, made = shown["epoch_time"], drawings["epoch_time"].made
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


def test_a_whole_epoch_is_measured_not_extrapolated(tmp_path):
    made = mobilenet(1, epochs=3, steps_per_epoch=None)
    rows = Drawing.of(tmp_path, made).shown("epoch_time")
    here = rows[(rows["panel"] == "measured") & (rows["series"] == "PyTorch")]
    (one,) = of_cell(made, "torch", 1, 64)
    later = [epoch["train_seconds"] for epoch in one["epochs"][1:]]
    median = here[here["kind"] == "median"].iloc[0]
    assert median["value"] == pytest.approx(np.mean(later))
    assert not median["extrapolated"]


def test_values_are_drawn_once_each_and_side_by_side(drawings, shown):
    (axes,) = drawings["epoch_time"].figure("epoch_time", "mirrored_mobilenet").axes
    drawn = shown["epoch_time"][shown["epoch_time"]["kind"].isin(["published", "median"])]
    marked = [line.get_xydata() for line in axes.lines if line.get_marker() != "None"]
    points = [point for each in marked for point in each if not np.isnan(point[1])]
    assert sorted(y for _, y in points) == pytest.approx(sorted(drawn["value"]))
    assert len({round(x, 3) for x, _ in points}) == len(points)
