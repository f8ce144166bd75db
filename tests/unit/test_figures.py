"""Every figure from records of every kind: drawn whole, traceable, the same bytes each time."""

import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from draw_figures import FIGURES, THREE, Drawing, texts_of, varied
from make_records import BACKENDS, LABELS, PALETTE, make_record
from matplotlib.colors import to_rgb

import plot_clocks
import plot_throughput
from paragone.analysis import run_states
from paragone.analysis.grouping import series_of
from paragone.base.clock_names import PARTS
from paragone.reporting import footnotes
from paragone.reporting.drawing import style


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The figures of the varied records, PyTorch/XLA failing parity."""
    return Drawing(tmp_path_factory.mktemp("varied"), varied(), **{"torch-xla": False})


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


@pytest.mark.parametrize(("replicas", "told"), [(1, False), (2, True)])
def test_throughput_says_that_replicas_share_cores(tmp_path, replicas, told):
    drawing = Drawing(tmp_path, [make_record("torch-xla", replicas=replicas)])
    figure = plot_throughput.draw(series_of(drawing.runs, LABELS), drawing.runs, PALETTE, "t")
    assert ("Replicas share the cores of one machine." in texts_of(figure)) is told


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
    assert tuple(plot_clocks.LOOK) == PARTS
    for face in faces:
        for color in PALETTE.values():
            assert np.abs(np.subtract(to_rgb(face), to_rgb(color))).max() > 0.15


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
    assert "SYNTHETIC DATA" in footnotes.data(drawing.runs)
    assert run_states.holds_synthetic(drawing.runs)


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
    assert "2 machines, kept apart" in footnotes.machine(drawing.runs)


def test_unknown_format_writes_nothing(everything, capsys, tmp_path):
    with pytest.raises(SystemExit):
        everything.draw("throughput", suffixes=("bmp",))
    assert "figure is written as .svg" in capsys.readouterr().err
    assert not list((everything.folder / "out").glob("*.bmp"))
