"""The reference of accelerators: as published, with this machine's peaks among them."""

from pathlib import Path

import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_products import make_case, make_result, table_of, varied_table
from make_tables import beside, write

from paragone.analysis import published, verdicts

CSV = Path(__file__).parents[2] / "published" / "published.csv"
ROWS = published.read_rows(CSV, "accelerator_reference")


def reference(folder, runs):
    options = beside("accelerator_reference")
    written = write(folder, "accelerator_reference", *options, products=runs)
    return pd.read_csv(written["csv"]), written


def test_published_rows_are_as_published_and_peaks_have_rows_of_their_own(tmp_path):
    found, written = reference(tmp_path, varied_table())
    assert "ResNet-50" in written["markdown"].read_text()
    assert "this machine" in written["latex"].read_text()
    assert len(found) == len(ROWS) + 5
    assert set(found["verdict"]) == {verdicts.NOT_COMPARABLE}
    assert found["why"].str.contains("other hardware").all()
    here = found[found["published"] == "-"]
    assert set(here["system"]) == {"this machine (cpu)"}
    torch = here[
        here["condition"].str.contains("float32") & here["condition"].str.endswith(" PyTorch")
    ]
    assert torch["measured here"].item().startswith("0.155 [0.150, 0.160] TFLOP/s (n = 3)")
    v3 = found[(found["system"] == "Cloud TPU v3 (2018)") & (found["metric"] == "peak_throughput")]
    assert (v3["published"].item(), v3["measured here"].item()) == ("420 TFLOP/s", "-")
    assert {row.metric for row in ROWS} <= set(found["metric"])


def test_no_peak_leaves_the_published_rows(tmp_path):
    runs = table_of([make_result("torch", [make_case((64, 64, 64), status="unavailable")])])
    assert len(reference(tmp_path, runs)[0]) == len(ROWS)
    figure = Drawing(tmp_path, products=runs).figure("accelerators", "accelerator_reference")
    assert "No peak was measured" in texts_of(figure)


@pytest.mark.filterwarnings("error")
def test_the_points_are_published_and_measured_peaks(tmp_path):
    drawing = Drawing(tmp_path, products=varied_table())
    shown = drawing.shown("accelerators", "accelerator_reference")
    assert shown["kind"].value_counts().to_dict() == {"published": 15, "measured": 5}
    measured = shown[(shown["backend"] == "torch") & (shown["precision"] == "float32")].iloc[0]
    assert (measured["value"], measured["runs"]) == (pytest.approx(0.155), 3)
    peaks = shown[(shown["kind"] == "published") & (shown["metric"] == "peak_throughput")]
    assert peaks["value"].is_monotonic_increasing


def test_the_figure_distinguishes_measured_from_published_and_stays_inside(tmp_path):
    drawing = Drawing(tmp_path, products=varied_table())
    figure = drawing.figure("accelerators", "accelerator_reference")
    text = texts_of(figure)
    for words in ("measured here, cpu, float32", "as published", "vendor", "100,000+", "83"):
        assert words in text
    assert figure.axes[0].get_xscale() == "log"
    powers = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert {"10\N{SUPERSCRIPT ZERO}", "10\N{SUPERSCRIPT FOUR}"} <= set(powers)
    for axes in figure.axes:
        for one in [*axes.texts, *axes.get_yticklabels()]:
            assert one.get_window_extent().x0 >= -1
            assert one.get_window_extent().x1 <= figure.bbox.width + 1, one.get_text()
