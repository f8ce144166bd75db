"""How much of a step is input: the figure and the table of made runs whose share is known."""

import copy
import math
import re

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_records import LABELS, PALETTE, make_record, sealed
from make_tables import beside, write

from paragone.analysis import input_share
from paragone.analysis.grouping import series_of
from paragone.reporting.figures import input_paths
from paragone.reporting.inputs import Inputs

LOADERS = {
    "torch-data-loader": ("torch", "data_loader", "PyTorch DataLoader"),
    "tensorflow-tf-data": ("tensorflow-mirrored", "tf_data", "TensorFlow tf.data"),
}
NAMES = LABELS | {name: label for name, (*_, label) in LOADERS.items()}
NOISE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01)
# Of the loader's step beside that of the arrays, seed by seed: what it adds is a quarter of its step.
ADDED = (0.25, 0.26, 0.24, 0.25, 0.255, 0.245, 0.25)
MOBILENET = {"workload": "mobilenet-v2", "dataset": "cats_vs_dogs", "global_batch": 64}
CNN = {"workload": "fashion-cnn", "global_batch": 1024}


def of_loader(made: dict, name: str) -> dict:
    """A record of the same run under the name of a backend with a loader."""
    one = copy.deepcopy(made)
    one["spec"]["backend"] |= {"name": name, "loader": LOADERS[name][1]}
    one["run"] = made["run"].replace(LOADERS[name][0], name)
    return sealed(one)


def pairs(name: str, speed: float, seeds: int, **work) -> list[dict]:
    """Runs of a loader's engine at this speed, and with the loader, which adds a quarter of a step."""
    found = []
    for seed in range(seeds):
        own = speed * NOISE[seed]
        about = {**work, "seed": seed, "steps_per_epoch": 20}
        found.append(make_record(LOADERS[name][0], speed=own, **about))
        slower = make_record(LOADERS[name][0], speed=own * (1 - ADDED[seed]), **about)
        found.append(of_loader(slower, name))
    return found


@pytest.fixture(scope="module")
def drawing(tmp_path_factory) -> Drawing:
    """Seven pairs of a DataLoader, three of tf.data, and a run of another batch that has no pair."""
    made = pairs("torch-data-loader", 10_000, 7, **CNN)
    made += pairs("tensorflow-tf-data", 200, 3, **MOBILENET)
    made.append(
        of_loader(
            make_record("torch", global_batch=64, workload="fashion-cnn"), "torch-data-loader"
        )
    )
    folder = tmp_path_factory.mktemp("input")
    return Drawing.of(folder, made, **dict.fromkeys(LOADERS, True))


def inputs_of(drawing: Drawing) -> Inputs:
    colors = PALETTE | {"torch-data-loader": "#6699CC", "tensorflow-tf-data": "#AA4499"}
    return Inputs("A title", drawing.files, NAMES, colors)


@pytest.fixture(scope="module")
def found(drawing) -> list[input_share.InputShare]:
    return input_share.shares(series_of(drawing.runs, NAMES))


def test_a_loader_is_held_against_the_same_engine_on_the_same_work(found):
    assert [(one.loader.backend, one.arrays.backend, one.n, one.batch) for one in found] == [
        ("torch-data-loader", "torch", 7, 1024),
        ("tensorflow-tf-data", "tensorflow-mirrored", 3, 64),
    ]


def test_share_and_rate_are_those_that_were_made(found):
    by_name = {one.loader.backend: one for one in found}
    seven = by_name["torch-data-loader"]
    assert seven.share.value == pytest.approx(0.25, abs=2e-3)
    assert 0.24 <= seven.share.low < seven.share.value < seven.share.high <= 0.26
    own = 10_000 * np.array(NOISE)
    added = (1 / (own * (1 - np.array(ADDED))) - 1 / own).mean()
    assert seven.seconds.value == pytest.approx(added, rel=1e-3)
    assert seven.rate.value == pytest.approx(1 / added, rel=1e-3)
    assert seven.rate.low < seven.rate.value < seven.rate.high
    three = by_name["tensorflow-tf-data"]
    assert math.isnan(three.share.low)
    assert math.isnan(three.rate.high)
    assert three.step_seconds("arrays") == pytest.approx(64 / 200, rel=0.01)


def test_a_loader_that_adds_nothing_has_no_rate(tmp_path):
    made = pairs("torch-data-loader", 10_000, 2, **CNN)
    made[1], made[3] = (of_loader(made[at], "torch-data-loader") for at in (0, 2))
    same = Drawing.of(tmp_path, made, **{"torch-data-loader": True})
    (one,) = input_share.shares(series_of(same.runs, NAMES))
    assert one.share.value == pytest.approx(0)
    assert math.isnan(one.rate.value)


def test_without_a_pair_the_table_says_why(tmp_path):
    made = pairs("torch-data-loader", 10_000, 1, **CNN)
    made[1]["window"] = []
    short = Drawing.of(tmp_path, made, **{"torch-data-loader": True})
    files = write(tmp_path, "input_share", *beside(""), labels=NAMES, runs=short.files["runs"])
    assert "no speed window" in files["markdown"].read_text()


@pytest.mark.filterwarnings("error")
def test_bars_are_the_step_and_what_the_loader_adds(drawing):
    inputs = inputs_of(drawing)
    shown = input_paths.points(inputs)
    figure = input_paths.draw(shown, inputs)
    by_title = {axes.get_title(loc="left"): axes for axes in figure.axes}
    mobilenet, one_batch, cnn = (
        by_title[name]
        for name in ("mobilenet-v2, batch 64", "fashion-cnn, batch 64", "fashion-cnn, batch 1,024")
    )
    assert [text.get_text() for text in cnn.get_yticklabels()] == ["PyTorch", "PyTorch DataLoader"]
    widths = [round(bar.get_width(), 1) for bar in cnn.patches]
    step = 1e3 * 1024 / 10_000
    assert widths == pytest.approx([step, step, step / 3], rel=0.02)
    assert [bool(bar.get_hatch()) for bar in cnn.patches] == [False, False, True]
    *_, plain, added = cnn.patches
    assert added.get_x() == pytest.approx(plain.get_width())
    assert len(mobilenet.patches) == 3
    assert len(one_batch.patches) == 1
    text = texts_of(figure)
    assert "input 25 % [" in text
    assert "(n = 7)" in text
    assert "input 25 % (n = 3)" in text  # three pairs have no interval
    assert "step (ms)" in text


def test_the_figure_is_written_with_its_points(drawing):
    drawing.draw("input_paths")
    shown = pd.read_csv(drawing.folder / "out/input_paths.csv")
    runs = shown[shown["loader"] == "data_loader"].dropna(subset="share")
    assert len(runs) == 7
    assert runs["step_ms"].median() == pytest.approx(runs["median_ms"].iloc[0])
    assert runs["arrays_ms"].iloc[0] == pytest.approx(102.4, rel=0.02)


@pytest.fixture(scope="module")
def tables(drawing, tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("table")
    options = beside("")
    return write(folder, "input_share", *options, labels=NAMES, runs=drawing.files["runs"])


def test_the_table_has_a_row_per_loader_and_per_published_time_that_reads_alike(tables):
    rows = pd.read_csv(tables["csv"])
    assert rows["kind"].value_counts().to_dict() == {"published": 7, "measured": 2}
    measured = rows[rows["kind"] == "measured"].set_index("loader")
    assert measured.loc["data_loader", "n"] == 7
    assert measured.loc["data_loader", "input_share"] == pytest.approx(0.25, abs=2e-3)
    systems = set(rows.loc[rows["loader"] == "data_loader", "system"].dropna())
    assert systems == {"8 TPU cores (Colab), PyTorch/XLA"}


def test_published_rates_and_what_input_would_explain(tables):
    """150 s and 36 s for 23,262 examples: two devices explain 72 s of the 150."""
    rows = pd.read_csv(tables["csv"])
    one = rows[rows["condition"] == "total batch 64, no distribution"].iloc[0]
    assert one["published_per_second"] == pytest.approx(23_262 / 150)
    assert pd.isna(one["ratio"])
    two = rows[
        (rows["condition"] == "total batch 64") & rows["system"].str.contains("1080", na=False)
    ].iloc[0]
    assert two["ratio"] == pytest.approx(150 / 36)
    assert two["explaining_per_second"] == pytest.approx(23_262 / 78)
    rate = two["delivered_per_second"]
    assert rate == pytest.approx(600, rel=0.02)  # a third of a step at 200 examples/s
    assert two["published_over_delivered"] == pytest.approx(23_262 / 36 / rate)
    assert two["ratio_without_input"] == pytest.approx((150 - 23_262 / rate) / 36)
    whole = rows[rows["system"].str.contains("Colab", na=False)].iloc[0]
    assert whole["published_per_second"] == pytest.approx(50 * 60_000 / 269)
    # Twice as many K80 are not twice as fast: nothing is left to explain.
    slow = rows[rows["system"].str.contains("2 workers", na=False)]
    assert slow["ratio"].notna().all()
    assert slow["explaining_per_second"].isna().all()
    # Nor at a larger batch, with which each device may have done better.
    larger = rows[rows["condition"] == "total batch 256"].iloc[0]
    assert larger["ratio"] == pytest.approx(5)
    assert pd.isna(larger["explaining_per_second"])


def test_the_table_says_what_is_measured_and_what_is_arithmetic(tables):
    text = tables["markdown"].read_text()
    assert re.search(r"\b2[45]\.\d % \[2[45]\.\d, 2[45]\.\d\]", text)
    assert "## Measured here" in text
    assert "## Beside published" in text
    assert "published 4.2 x as fast with 2 x the devices. 78 s of the 150 s" in text
    assert "no more than 298 examples/s (arithmetic on published numbers)" in text
    assert "Measured here: TensorFlow tf.data delivers at most" in text
    assert "Beside published: arithmetic on" in text
    assert re.search(r"\| 10[678] % ", text)  # 646 examples/s over some 600


def test_without_a_loader_there_is_nothing_to_compare(tmp_path):
    plain = Drawing.of(tmp_path, [make_record("torch")])
    files = write(tmp_path, "input_share", *beside(""), runs=plain.files["runs"])
    assert "No loader was trained beside the mapped arrays" in files["markdown"].read_text()
    figure = plain.figure("input_paths")
    assert len(figure.axes[0].patches) == 1
