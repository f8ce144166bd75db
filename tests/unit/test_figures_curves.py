"""Learning curves: medians, stopped runs, targets and published points."""

import numpy as np
import pytest
from draw_figures import Drawing, texts_of, varied
from make_records import LABELS, PALETTE, make_record

import plot_learning_curves
from paragone.series import series_of


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The figures of the varied records, PyTorch/XLA failing parity."""
    return Drawing(tmp_path_factory.mktemp("varied"), varied(), **{"torch-xla": False})


def test_learning_curve_points_are_those_of_the_records(everything, request):
    published = request.config.rootpath / "published" / "published.csv"
    extra = ["--published", published, "--published-experiment", "tpu_fashion_conv"]
    _, shown = everything.draw("learning_curves", *extra)
    medians = shown[(shown["kind"] == "median") & (shown["series"] == "TensorFlow Mirrored")]
    for metric in ("train_loss", "test_accuracy"):
        for epoch in (1, 2, 3):
            row = medians[(medians["metric"] == metric) & (medians["epoch"] == epoch)].iloc[0]
            values = [one["epochs"][epoch - 1][metric] for one in everything.made[:3]]
            assert row["value"] == pytest.approx(np.median(values))
            assert (row["low"], row["high"]) == pytest.approx((min(values), max(values)))
            assert row["n"] == 3
            assert row["runs"].split() == sorted(one["run"] for one in everything.made[:3])
    stopped = shown[shown["kind"] == "stopped"]
    diverged = {one["run"] for one in everything.made if one["status"] == "diverged"}
    assert set(stopped["runs"]) == diverged
    points = shown[shown["kind"] == "published"]
    losses = points[points["metric"] == "train_loss"].set_index("epoch")["value"].to_dict()
    assert losses == {1: 12.7235, 2: 0.76, 3: 0.4443, 4: 0.3401, 5: 0.2867}


def test_learning_curves_tell_what_is_missing(everything):
    series = series_of(everything.runs, LABELS)
    shown = plot_learning_curves.points(series, everything.epochs, [])
    figure = plot_learning_curves.draw(series, shown, everything.runs, PALETTE, "t")
    text = texts_of(figure)
    assert "PyTorch: diverged (1 of 3 runs)" in text
    assert "TensorFlow TPU: device not available" in text
    assert "Parity failed or not checked: PyTorch/XLA SPMD" in text
    assert "published" not in text


def test_another_protocol_than_the_published_is_said(tmp_path, request):
    published = request.config.rootpath / "published" / "published.csv"
    drawing = Drawing(tmp_path, [make_record("torch", steps_per_epoch=8)])
    found = plot_learning_curves._protocol("tpu_fashion_conv", drawing.runs, drawing.epochs)
    assert found == ["Not the published conditions: 8 steps an epoch, published 60."]
    extra = ["--published", published, "--published-experiment", "tpu_fashion_conv"]
    assert "published" in set(drawing.draw("learning_curves", *extra)[1]["kind"])


def test_target_is_drawn(tmp_path):
    made = Drawing(tmp_path, [make_record("torch", target=0.85)])
    series = series_of(made.runs, LABELS)
    shown = plot_learning_curves.points(series, made.epochs, [])
    figure = plot_learning_curves.draw(series, shown, made.runs, PALETTE, "t")
    assert "target 0.85" in texts_of(figure)


def test_published_value_beyond_the_measured_epochs_is_a_level(tmp_path, request):
    options = {"workload": "fashion-cnn", "global_batch": 1024, "steps_per_epoch": None}
    made = [make_record("torch", epochs=2, **options)]
    made += [make_record("torch-xla", epochs=2, replicas=8, **options)]
    drawing = Drawing(tmp_path, made)
    rows = plot_learning_curves.published.read_rows(
        request.config.rootpath / "published" / "published.csv", "xla_fashion_cnn"
    )
    series = series_of(drawing.runs, LABELS)
    shown = plot_learning_curves.points(series, drawing.epochs, rows)
    figure = plot_learning_curves.draw(series, shown, drawing.runs, PALETTE, "t")
    text = texts_of(figure)
    assert "published: over 0.89 after epoch 50" in text
    assert "PyTorch/XLA SPMD (8 replicas)" in text
    assert "n = 1 run each: no interval." in text
    assert figure.axes[1].get_xlim()[1] < 3
