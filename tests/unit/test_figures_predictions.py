"""The grid of predictions: label first, wrong ones marked, bad input explained."""

import numpy as np
import pytest
from draw_figures import Drawing, varied
from make_records import CLASS_NAMES, LABELS, PALETTE, make_predictions

import plot_predictions
from paragone.analysis.grouping import series_of
from paragone.base.errors import UserError


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The figures of the varied records, PyTorch/XLA failing parity."""
    return Drawing(tmp_path_factory.mktemp("varied"), varied(), **{"torch-xla": False})


def test_predictions_name_the_label_first(everything):
    _, shown = everything.draw("predictions")
    assert shown["run"].nunique() == 3  # one run for each backend with a completed run
    expected = make_predictions(0)
    grid = shown[shown["series"] == "TensorFlow Mirrored"]
    assert grid["seed"].unique().tolist() == [0]
    assert grid["label"].tolist() == [CLASS_NAMES[label] for label in expected["labels"]]
    predicted = [CLASS_NAMES[label] for label in expected["predictions"]]
    assert grid["prediction"].tolist() == predicted
    assert grid.loc[~grid["right"], "position"].tolist() == [4, 12, 13]
    assert grid["probability"].tolist() == pytest.approx(expected["probabilities"].tolist())


def test_wrong_predictions_differ_in_colour_and_symbol(everything):
    series = series_of(everything.runs, LABELS)
    paths = {path.parent.name: path for path in everything.paths if path.exists()}
    grids = plot_predictions.choose(series[:1], paths, None)
    figure = plot_predictions.draw(grids, everything.runs, CLASS_NAMES, PALETTE, "t")
    titles = [text for text in figure.axes[0].texts if "\N{RIGHTWARDS ARROW}" in text.get_text()]
    assert len(titles) == 25
    wrong = [text for text in titles if "\N{BALLOT X}" in text.get_text()]
    assert [text.get_text() for text in wrong] == [
        "Coat\n\N{RIGHTWARDS ARROW} Sandal \N{BALLOT X}",
        "Pullover\n\N{RIGHTWARDS ARROW} Dress \N{BALLOT X}",
        "Dress\n\N{RIGHTWARDS ARROW} Coat \N{BALLOT X}",
    ]
    assert {text.get_color() for text in wrong} == {plot_predictions.WRONG}
    right = [text.get_color() for text in titles if text not in wrong]
    assert set(right) == {plot_predictions.RIGHT}
    frames = figure.axes[0].patches
    marked = [index for index, frame in enumerate(frames) if frame.get_linewidth() > 1]
    assert marked == [4, 12, 13]


def test_predictions_without_images_or_names_are_explained(everything, tmp_path):
    (one, *_), path = series_of(everything.runs, LABELS), tmp_path / "predictions.npz"
    kept = {name: value for name, value in make_predictions(0).items() if name != "images"}
    np.savez(path, **kept)
    with pytest.raises(UserError, match="holds no images"):
        plot_predictions.read_grid(one, one.runs.iloc[0], path)
    path.write_bytes(b"PK")
    with pytest.raises(UserError, match="not the predictions"):
        plot_predictions.read_grid(one, one.runs.iloc[0], path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match="no class names"):
        plot_predictions.class_names(tmp_path / "manifest.json")
