"""The grid of predictions: label first, wrong ones marked, bad input explained."""

import numpy as np
import pytest
from draw_figures import Drawing
from make_records import CLASS_NAMES, PALETTE, make_predictions, make_record

from paragone.base.errors import UserError
from paragone.reporting.figures import predictions


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


def test_each_image_is_there_once_and_wrong_ones_differ_in_color_and_symbol(everything):
    axes = everything.figure("predictions").axes[0]
    said = [text for text in axes.texts if "\N{RIGHTWARDS ARROW}" in text.get_text()]
    assert len(said) == len(axes.images) == 25  # all three backends agree
    wrong = [text for text in said if "\N{BALLOT X}" in text.get_text()]
    assert [text.get_text() for text in wrong] == [
        f"\N{RIGHTWARDS ARROW} {name} \N{BALLOT X}" for name in ("Sandal", "Dress", "Coat")
    ]
    assert {text.get_color() for text in wrong} == {predictions.WRONG}
    assert {text.get_color() for text in said if text not in wrong} == {predictions.RIGHT}
    marked = [index for index, frame in enumerate(axes.patches) if frame.get_linewidth() > 1]
    assert marked == [4, 12, 13]


def test_where_backends_disagree_each_says_what_it_saw(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch"), make_record("torch-xla")])
    (path,) = [one for one in drawing.files["predictions"] if "torch-xla" in one.parent.name]
    found = make_predictions(0)
    found["predictions"][0] = CLASS_NAMES.index("Bag")  # the other one is right
    np.savez(path, **found)
    axes = drawing.figure("predictions").axes[0]
    texts = [text.get_text() for text in axes.texts]
    first = texts[: texts.index("Trouser")]
    assert first == [
        "T-shirt/top",
        "\N{RIGHTWARDS ARROW} T-shirt/top",
        "\N{RIGHTWARDS ARROW} Bag \N{BALLOT X}",
    ]
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
