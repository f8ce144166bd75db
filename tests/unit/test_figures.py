"""Every figure from records of every kind: drawn whole, traceable, the same bytes each time."""

import json
import re
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from make_records import (
    BACKENDS,
    CLASS_NAMES,
    LABELS,
    PALETTE,
    make_predictions,
    make_record,
    write_parity,
    write_records,
)
from matplotlib.colors import to_rgb

import plot_clocks
import plot_learning_curves
import plot_predictions
import plot_throughput
from paragone import notes, tables
from paragone.errors import UserError
from paragone.figures import style
from paragone.series import series_of

FIGURES = {
    "learning_curves": plot_learning_curves,
    "throughput": plot_throughput,
    "clocks": plot_clocks,
    "predictions": plot_predictions,
}
THREE = list(BACKENDS)[:3]


def varied() -> list[dict]:
    """Six backends: two healthy, one that fails parity, and one of each unhappy status."""
    names = list(BACKENDS)
    made = [make_record(name, seed=seed) for name in names[:3] for seed in range(3)]
    made[4] = make_record(names[1], seed=1, status="diverged")
    made += [make_record(names[3], seed=seed, status="diverged") for seed in range(2)]
    made += [make_record(names[4], seed=seed, status="out_of_memory") for seed in range(2)]
    made += [make_record(names[5], status="unavailable")]
    return made


class Drawing:
    """Runs the figure programs over tables of given records, in a folder of its own."""

    def __init__(self, folder, made, **failed):
        verdicts = {**dict.fromkeys(BACKENDS, True), **failed}
        workload = made[0]["spec"]["workload"]["name"]
        self.folder, self.made = folder, made
        self.paths = [path.with_name("predictions.npz") for path in write_records(folder, made)]
        parity = tables.read_parity([write_parity(folder, workload, verdicts)])
        self.runs, self.epochs = tables.tables(made, "one", parity)
        tables.write(self.runs, folder / "runs.parquet")
        tables.write(self.epochs, folder / "epochs.parquet")
        (folder / "manifest.json").write_text(json.dumps({"class_names": CLASS_NAMES}))

    def draw(self, figure, *extra, suffixes=("svg",), title="A title, batch 1,000"):
        outputs = [self.folder / "out" / f"{figure}.{suffix}" for suffix in suffixes]
        sidecar = self.folder / "out" / f"{figure}.csv"
        more = {
            "learning_curves": ["--epochs", self.folder / "epochs.parquet"],
            "predictions": [
                *("--predictions", *(path for path in self.paths if path.exists())),
                *("--class-names", self.folder / "manifest.json"),
            ],
        }.get(figure, [])
        arguments = [
            *("--runs", self.folder / "runs.parquet", *more, *extra),
            *("--palette", *(f"{name}={color}" for name, color in PALETTE.items())),
            *("--labels", *(f"{name}={label}" for name, label in LABELS.items())),
            *("--title", title, "--output", *outputs, "--sidecar", sidecar),
        ]
        FIGURES[figure].main([str(argument) for argument in arguments])
        return outputs, pd.read_csv(sidecar)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The figures of the varied records, PyTorch/XLA failing parity."""
    return Drawing(tmp_path_factory.mktemp("varied"), varied(), **{"torch-xla": False})


def texts_of(figure) -> str:
    """All text of a figure, as a reader meets it, on one line."""
    figure.draw_without_rendering()
    found = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    return " ".join(" ".join(found).split())


def png_size(path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


@pytest.mark.parametrize(
    ("figure", "width"),
    [("learning_curves", 7.0), ("throughput", 3.4), ("clocks", 7.0), ("predictions", 7.0)],
)
@pytest.mark.filterwarnings("error")
def test_three_formats_at_column_width(everything, figure, width):
    (svg, pdf, png), shown = everything.draw(figure, suffixes=("svg", "pdf", "png"))
    assert svg.read_text().lstrip().startswith("<?xml")
    assert f'width="{width * 72:g}pt"' in svg.read_text()
    assert png_size(png)[0] == round(width * 300)
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content  # fonts are embedded as TrueType
    assert len(shown)
    assert not list(png.parent.glob(".*"))  # nothing half-written


@pytest.mark.parametrize("figure", FIGURES)
def test_same_input_same_bytes(everything, figure):
    suffixes = ("svg", "pdf", "png")
    first = [path.read_bytes() for path in everything.draw(figure, suffixes=suffixes)[0]]
    second = [path.read_bytes() for path in everything.draw(figure, suffixes=suffixes)[0]]
    assert first == second
    assert not re.search(rb"20\d\d-\d\d-\d\dT", first[0])
    assert b"CreationDate" not in first[1]


def test_a_fresh_process_draws_the_same_bytes(everything, request):
    (path,), _ = everything.draw("learning_curves")
    inside = path.read_bytes()
    program = request.config.rootpath / "scripts" / "plot_learning_curves.py"
    command = [sys.executable, program, "--title", "A title, batch 1,000", "--output", path]
    for name in ("runs", "epochs"):
        command += [f"--{name}", everything.folder / f"{name}.parquet"]
    command += ["--sidecar", path.with_suffix(".csv")]
    command += ["--palette", *(f"{name}={color}" for name, color in PALETTE.items())]
    command += ["--labels", *(f"{name}={label}" for name, label in LABELS.items())]
    subprocess.run(command, check=True)
    assert path.read_bytes() == inside


def test_a_first_row_without_speed_does_not_set_the_scale(tmp_path):
    drawing = Drawing(tmp_path, [make_record(name) for name in THREE], **{THREE[0]: False})
    figure = plot_throughput.draw(series_of(drawing.runs, LABELS), drawing.runs, PALETTE, "t")
    assert figure.axes[0].get_xlim()[1] > drawing.runs["steady_examples_per_second"].max()


def test_throughput_drops_no_run(everything):
    _, shown = everything.draw("throughput")
    assert sorted(shown["run"]) == sorted(everything.runs["run"])
    by_run = {one["run"]: one for one in everything.made}
    for _, row in shown.dropna(subset="steady_examples_per_second").iterrows():
        expected = by_run[row["run"]]["steady"]["examples_per_second"]
        assert row["steady_examples_per_second"] == pytest.approx(expected)
        assert by_run[row["run"]]["status"] == "completed"
    words = shown.drop_duplicates("series").set_index("series")["words"].fillna("").to_dict()
    assert words == {
        "TensorFlow Mirrored": "",
        "PyTorch": "diverged (1 of 3 runs)",
        "PyTorch/XLA SPMD": "failed parity: no speed compared (all 3 runs)",
        "PyTorch DDP": "diverged (all 2 runs)",
        "TensorFlow MultiWorkerMirrored": "out of memory (all 2 runs)",
        "TensorFlow TPU": "device not available",
    }
    torch = shown[shown["series"] == "PyTorch"].iloc[0]
    speeds = [
        one["steady"]["examples_per_second"]
        for one in everything.made
        if one["spec"]["backend"]["name"] == "torch" and one["status"] == "completed"
    ]
    assert (torch["n"], torch["median"]) == (2, pytest.approx(np.median(speeds)))


@pytest.mark.parametrize("figure", ["throughput", "clocks"])
def test_what_has_no_value_stands_there_in_words(everything, figure):
    series = series_of(everything.runs, LABELS)
    arguments = (series, everything.runs, *([PALETTE] if figure == "throughput" else []))
    text = texts_of(FIGURES[figure].draw(*arguments, "t"))
    for words in (
        "failed parity: no speed compared",
        "diverged (all 2 runs)",
        "diverged (1 of 3 runs)",
        "out of memory (all 2 runs)",
        "device not available",
        "n = 3",
        "n = 2",
        "real data (official edition)",
        "node-1: Example CPU 3.0 GHz, 2 cores",
        "95 % bootstrap interval",
    ):
        assert words in text
    for label in LABELS.values():
        assert label in text


def test_clocks_show_a_real_run_whose_parts_add_up(everything):
    _, shown = everything.draw("clocks")
    by_run = {one["run"]: one for one in everything.made}
    bars = shown.dropna(subset="run").groupby("run")
    assert len(bars) == 2
    for run, parts in bars:
        clocks = by_run[run]["clocks"]
        assert parts["seconds"].sum() == pytest.approx(clocks["end_to_end"])
        named = parts.set_index("part")["seconds"]
        assert named["compilation"] == pytest.approx(clocks["cold"]["compilation"])
    tensorflow = shown[shown["series"] == "TensorFlow Mirrored"].iloc[0]
    totals = sorted(
        one["clocks"]["end_to_end"]
        for one in everything.made
        if one["spec"]["backend"]["name"] == "tensorflow-mirrored"
    )
    assert tensorflow["end_to_end_seconds"] == pytest.approx(totals[1])
    assert tensorflow["end_to_end_median"] == pytest.approx(totals[1])


def test_clock_colors_are_not_backend_colors():
    faces = [face for face, *_ in plot_clocks.LOOK.values()]
    assert tuple(plot_clocks.LOOK) == tables.CLOCK_PARTS
    for face in faces:
        for color in PALETTE.values():
            assert np.abs(np.subtract(to_rgb(face), to_rgb(color))).max() > 0.15


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


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("figure", ["learning_curves", "throughput", "clocks"])
@pytest.mark.filterwarnings("error")
def test_one_and_six_backends_with_one_run_each(tmp_path, figure, count):
    drawing = Drawing(tmp_path, [make_record(name) for name in list(BACKENDS)[:count]])
    _, shown = drawing.draw(figure, title="A very long title " * 8)
    assert set(shown["series"]) == set(list(LABELS.values())[:count])
    assert (shown.filter(regex="(^|_)n$") == 1).all().all()
    assert shown.filter(regex="low|high").isna().all().all()


@pytest.mark.parametrize("figure", ["throughput", "clocks"])
def test_words_and_values_stay_inside_the_figure(everything, figure):
    series = series_of(everything.runs, LABELS)
    arguments = (series, everything.runs, *([PALETTE] if figure == "throughput" else []))
    drawn = FIGURES[figure].draw(*arguments, "t")
    drawn.draw_without_rendering()
    edge = drawn.bbox.width + 1
    for text in [*drawn.texts, *drawn.axes[0].texts, *drawn.axes[0].get_yticklabels()]:
        assert text.get_window_extent().x0 >= -1
        assert text.get_window_extent().x1 <= edge, text.get_text()


@pytest.mark.parametrize("figure", FIGURES)
def test_synthetic_data_are_said_loudly(tmp_path, figure):
    drawing = Drawing(tmp_path, [make_record("torch", source="synthetic", edition="synthetic")])
    (png,), _ = drawing.draw(figure, suffixes=("png",))
    from matplotlib.image import imread

    top = imread(png)[3, ::10, :3]
    assert np.allclose(top, to_rgb(style.ALARM), atol=0.02)  # a banner across the whole width
    assert "SYNTHETIC DATA" in notes.data(drawing.runs)
    assert notes.holds_synthetic(drawing.runs)


def test_real_data_have_no_banner(everything):
    (png,), _ = everything.draw("throughput", suffixes=("png",))
    from matplotlib.image import imread

    assert np.allclose(imread(png)[0, :, :3], 1)


def test_two_machines_are_two_rows(tmp_path):
    made = [make_record("torch", host=host) for host in ("node-1", "node-2")]
    drawing = Drawing(tmp_path, made)
    _, shown = drawing.draw("throughput")
    assert sorted(shown["n"]) == [1, 1]
    assert shown["series"].nunique() == 2
    assert "2 machines, kept apart" in notes.machine(drawing.runs)


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


def test_unknown_format_writes_nothing(everything, capsys, tmp_path):
    with pytest.raises(SystemExit):
        everything.draw("throughput", suffixes=("bmp",))
    assert "figure is written as .svg" in capsys.readouterr().err
    assert not list((everything.folder / "out").glob("*.bmp"))
