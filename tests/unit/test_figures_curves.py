"""Learning curves and the grid of predictions: what is drawn, marked, stopped and explained."""

import numpy as np
import pytest
from draw_figures import Drawing, texts_of
from make_experiments import reuters
from make_records import CLASS_NAMES, PALETTE, make_predictions, make_record

from paragone.base.errors import UserError
from paragone.reporting.figures import predictions


def test_learning_curve_points_are_those_of_the_records(everything):
    shown = everything.shown("learning_curves", "tpu_fashion_conv")
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


def test_lines_are_the_medians_and_bands_their_intervals(everything):
    shown = everything.shown("learning_curves")
    axes = everything.figure("learning_curves").axes[0]
    lines = {line.get_color(): line for line in axes.lines[:3]}
    here = shown[(shown["kind"] == "median") & (shown["metric"] == "train_loss")]
    for series, backend in (("TensorFlow Mirrored", "tensorflow-mirrored"), ("PyTorch", "torch")):
        line = lines[everything.inputs().palette[backend]]
        median = here[here["series"] == series]
        assert line.get_ydata().tolist() == pytest.approx(median["value"].tolist())
        assert line.get_xdata().tolist() == pytest.approx([1, 2, 3], abs=0.1)
    first, second = (line.get_xdata()[0] for line in axes.lines[:2])
    assert first < second  # equal curves are side by side
    assert len(axes.collections) == 3  # a band per series with several runs


def test_published_value_beyond_the_measured_epochs_is_a_level(tmp_path):
    options = {"workload": "fashion-cnn", "global_batch": 1024, "steps_per_epoch": None}
    made = [make_record("torch", epochs=2, **options)]
    made += [make_record("torch-xla", epochs=2, replicas=8, **options)]
    figure = Drawing.of(tmp_path, made).figure("learning_curves", "xla_fashion_cnn")
    text = texts_of(figure)
    assert "published: over 0.89 after epoch 50" in text
    assert "PyTorch/XLA SPMD (8 replicas)" in text
    assert "n = 1 run each: no interval." in text
    assert figure.axes[1].get_xlim()[1] < 3


def test_variants_are_side_by_side_with_their_own_published_points(tmp_path):
    drawing = Drawing.of(tmp_path, reuters())
    shown = drawing.shown("learning_curves", "reuters_strategies")
    points = shown[shown["kind"] == "published"].groupby("series")["workload"].unique()
    assert {system: list(names) for system, names in points.items()} == {
        "1 GPU (Colab), custom loop": ["reuters-cnn"],
        "2 logical GPUs (Colab), MirroredStrategy": ["reuters-cnn"],
        "8 TPU cores (Colab), TPUStrategy": ["reuters-cnn-double-softmax"],
    }
    assert set(shown["metric"]) == {"train_loss", "test_loss", "test_accuracy"}
    losses = shown[(shown["kind"] == "median") & (shown["metric"] == "train_loss")]
    assert len(losses) == 8 * 10  # the TPU was not there
    for run in drawing.made:
        here = losses[losses["runs"] == run["run"]].sort_values("epoch")["value"].tolist()
        assert here == [row["train_loss"] for row in run["epochs"]]

    figure = drawing.figure("learning_curves", "reuters_strategies")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == 6
    assert titles[:2] == ["reuters-cnn", "reuters-cnn-\ndouble-softmax"]
    assert len({axes.get_ylim() for axes in figure.axes[:2]}) == 1  # flat beside falling
    dashes = {one.label: one.number for one in drawing.inputs().series}
    assert len(dashes) == 10
    assert dashes["TensorFlow Mirrored (1 replica)"] == 0
    assert dashes["TensorFlow Mirrored (2 replicas)"] == 1
    assert dashes["TensorFlow Mirrored (double softmax, 1 replica)"] == 0
    dashed = {line.get_color() for line in figure.axes[0].lines if line.is_dashed()}
    assert drawing.inputs().palette["tensorflow-mirrored"] in dashed


def test_predictions_name_the_label_first(everything):
    shown = everything.shown("predictions")
    assert shown["run"].nunique() == 3  # one run for each backend with a completed run
    expected = make_predictions(0)
    grid = shown[shown["series"] == "TensorFlow Mirrored"]
    assert grid["seed"].unique().tolist() == [0]
    assert grid["label"].tolist() == [CLASS_NAMES[label] for label in expected["labels"]]
    predicted = [CLASS_NAMES[label] for label in expected["predictions"]]
    assert grid["prediction"].tolist() == predicted
    assert grid.loc[~grid["right"], "position"].tolist() == [4, 12, 13]
    assert grid["probability"].tolist() == pytest.approx(expected["probabilities"].tolist())


def test_where_backends_disagree_each_says_what_it_saw(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch"), make_record("torch-xla")])
    _, path = drawing.files["predictions"]
    found = make_predictions(0)
    found["predictions"][0] = CLASS_NAMES.index("Bag")  # the other one is right
    np.savez(path, **found)
    axes = drawing.figure("predictions").axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts[: texts.index("Trouser")] == ["T-shirt/top", "→ T-shirt/top", "→ Bag ✗"]
    assert axes.patches[0].get_linestyle() == "--"
    colors = [line.get_color() for line in axes.lines]
    assert colors == [PALETTE["torch"], PALETTE["torch-xla"]]


def test_predictions_without_images_or_names_are_explained(tmp_path):
    path = tmp_path / "predictions.npz"
    for missing, words in (("images", "holds no images"), ("class_names", "not the predictions")):
        kept = {name: value for name, value in make_predictions(0).items() if name != missing}
        np.savez(path, **kept)
        with pytest.raises(UserError, match=words):
            predictions.read(path)
    path.write_bytes(b"PK")
    with pytest.raises(UserError, match="not the predictions"):
        predictions.read(path)
