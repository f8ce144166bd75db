"""Every figure from records of every kind: drawn whole, traceable, the same bytes each time."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from draw_figures import FIGURES, THREE, Drawing, banners, named_runs, texts_of
from make_records import LABELS, make_record, of_backend, speed, waited
from matplotlib.collections import PathCollection

from paragone.reporting import footnotes, style
from paragone.reporting.figures import clocks

SUFFIXES = ("svg", "pdf", "png")


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.filterwarnings("error")
def test_three_formats_at_column_width_and_the_same_bytes_again(everything, figure):
    paths, shown = everything.draw(figure, suffixes=SUFFIXES)
    svg, pdf, png = first = [path.read_bytes() for path in paths]
    assert svg.lstrip().startswith(b"<?xml")
    assert f'width="{style.SINGLE * 72:g}pt"'.encode() in svg
    assert not re.search(rb"20\d\d-\d\d-\d\dT", svg)
    assert struct.unpack(">I", png[16:20]) == (round(style.SINGLE * 300),)
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf  # fonts are embedded as TrueType
    assert set() < named_runs(shown) <= {*everything.runs["run"]}
    assert not [name for name in shown if name.startswith("_")]
    assert not list(paths[0].parent.glob(".*"))  # nothing half-written
    again, _ = everything.draw(figure, suffixes=SUFFIXES)
    assert first == [path.read_bytes() for path in again]


@pytest.mark.parametrize("name", ["pie", "../inputs", "__init__", "clocks.py"])
def test_an_unknown_figure_names_the_known_ones(everything, capsys, name):
    with pytest.raises(SystemExit):
        everything.draw(name)
    message = capsys.readouterr().err
    assert repr(name) in message
    modules = Path(clocks.__file__).parent.glob("[a-z]*.py")
    assert ", ".join(sorted(path.stem for path in modules)) in message


def test_a_missing_input_and_an_unknown_format_are_named_and_nothing_is_written(tmp_path, capsys):
    drawing = Drawing.of(tmp_path, [make_record("torch")])
    del drawing.files["epochs"]
    for figure, suffix, words in (
        ("learning_curves", "svg", "--epochs: missing"),
        ("throughput", "bmp", "figure is written as .svg"),
    ):
        with pytest.raises(SystemExit):
            drawing.draw(figure, suffixes=(suffix,))
        assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_braces_and_dollars_are_plain_text(everything):
    title = "{results}, $a_1$ and {} 100 %"
    drawn = everything.figure("throughput", title=title)
    assert title in texts_of(drawn)
    assert not any(text.get_parse_math() for text in drawn.texts)


def test_throughput_drops_no_run(everything):
    shown = everything.shown("throughput")
    assert sorted(shown["run"]) == sorted(everything.runs["run"])
    by_run = {one["run"]: one for one in everything.made}
    for _, row in shown.dropna(subset="steady_examples_per_second").iterrows():
        expected = speed(by_run[row["run"]])
        assert row["steady_examples_per_second"] == pytest.approx(expected)
        assert by_run[row["run"]]["status"] == "completed"
    words = shown.drop_duplicates("series").set_index("series")["words"].fillna("").to_dict()
    assert words == {
        "TensorFlow Mirrored": "",
        "PyTorch": "diverged (1 of 3 runs)",
        "PyTorch/XLA SPMD": "failed parity: no speed compared (all 3 runs)",
        "PyTorch DDP": "diverged (both runs)",
        "TensorFlow MultiWorkerMirrored": "out of memory (both runs)",
        "TensorFlow TPU": "device not available",
    }
    torch = shown[shown["series"] == "PyTorch"].iloc[0]
    speeds = speeds_of(everything, "torch")
    assert (torch["n"], torch["median"]) == (2, pytest.approx(np.median(speeds)))


def speeds_of(drawing, backend):
    made = of_backend(drawing.made, backend)
    return [speed(one) for one in made if one["status"] == "completed"]


def test_throughput_draws_each_run_and_the_median(everything):
    """A bar per median, a dot per run."""
    (axes,) = everything.figure("throughput").axes
    for row, backend in enumerate(THREE[:2]):
        speeds = speeds_of(everything, backend)
        assert axes.patches[row].get_width() == pytest.approx(np.median(speeds))
        dots = [one for one in axes.collections if isinstance(one, PathCollection)]
        drawn = [x for one in dots for x, y in one.get_offsets() if y == row]
        assert sorted(drawn) == pytest.approx(sorted(speeds))


@pytest.mark.parametrize("figure", ["throughput", "clocks"])
def test_what_has_no_value_is_named_with_the_reason(everything, figure):
    text = texts_of(everything.figure(figure))
    shared = ("diverged (1 of 3 runs)", "real data (official edition)", "n = 3")
    assert [words for words in (*shared, *LABELS.values()) if words not in text] == []


def test_clocks_show_a_real_run_whose_parts_add_up(everything):
    shown = everything.shown("clocks")
    by_run = {one["run"]: one for one in everything.made}
    bars = shown.dropna(subset="run").groupby("run")
    assert len(bars) == 2
    for run, parts in bars:
        assert parts["seconds"].sum() == pytest.approx(waited(by_run[run]))
        named = parts.set_index("part")["seconds"]
        cold = by_run[run]["clocks"]["cold"]
        assert named["compilation"] == pytest.approx(cold["compilation"])
    tensorflow = shown[shown["series"] == "TensorFlow Mirrored"].iloc[0]
    totals = sorted(map(waited, of_backend(everything.made, "tensorflow-mirrored")))
    assert tensorflow["end_to_end_seconds"] == pytest.approx(totals[1])
    assert tensorflow["end_to_end_median"] == pytest.approx(totals[1])


@pytest.mark.parametrize("figure", FIGURES)
def test_synthetic_data_get_a_banner_and_real_data_none(everything, tmp_path, figure):
    made = [make_record("torch", source="synthetic", edition="synthetic")]
    drawn = Drawing.of(tmp_path, made).figure(figure)
    assert " ".join(banners(drawn)) == footnotes.SYNTHETIC
    assert "SYNTHETIC DATA" in texts_of(drawn)
    assert banners(everything.figure(figure)) == []
