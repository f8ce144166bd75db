"""The reference of accelerators: as published, with this machine's peaks among them."""

from pathlib import Path

import pandas as pd
import pytest
from draw_figures import texts_of
from make_products import make_case, make_result, varied_table
from make_records import LABELS, PALETTE

import accelerator_reference
import plot_accelerators
from paragone.analysis import product_tables, published, tidy, verdicts

CSV = Path(__file__).parents[2] / "published" / "published.csv"
ROWS = published.read_rows(CSV, "accelerator_reference")


def test_every_published_row_stands_as_published_and_peaks_have_rows_of_their_own():
    found = accelerator_reference.reference(ROWS, varied_table(), LABELS)
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


def test_no_peak_leaves_the_published_rows():
    runs = product_tables.table(
        [make_result("torch", [make_case((64, 64, 64), status="unavailable")])]
    )
    assert len(accelerator_reference.reference(ROWS, runs, LABELS)) == len(ROWS)
    drawn = plot_accelerators.collect(ROWS, runs, LABELS)
    assert "No peak was measured" in texts_of(plot_accelerators.draw(drawn, runs, PALETTE, "A"))


def write(program, folder, *extra):
    tidy.write(varied_table(), folder / "matmul.parquet")
    arguments = [
        *("--runs", folder / "matmul.parquet", "--published", CSV),
        *("--published-experiment", "accelerator_reference", "--title", "Accelerators"),
        *("--labels", *(f"{name}={label}" for name, label in LABELS.items()), *extra),
    ]
    program.main([str(argument) for argument in arguments])


def test_reference_in_three_formats(tmp_path):
    kinds = {kind: tmp_path / f"c.{kind}" for kind in ("csv", "markdown", "latex")}
    options = [part for kind, path in kinds.items() for part in (f"--{kind}", path)]
    write(accelerator_reference, tmp_path, "--flaws", CSV.with_name("flaws.csv"), *options)
    assert len(pd.read_csv(kinds["csv"])) == len(ROWS) + 5
    assert "ResNet-50" in kinds["markdown"].read_text()
    assert "this machine" in kinds["latex"].read_text()


@pytest.mark.filterwarnings("error")
def test_the_figure_is_the_same_bytes_each_time_and_traceable(tmp_path):
    outputs = [tmp_path / f"a.{suffix}" for suffix in ("svg", "pdf", "png")]
    palette = ["--palette", *(f"{name}={color}" for name, color in PALETTE.items())]
    files = ["--output", *outputs, "--sidecar", tmp_path / "a.csv"]
    drawn = []
    for _ in range(2):
        write(plot_accelerators, tmp_path, *palette, *files)
        drawn.append([path.read_bytes() for path in outputs])
    assert drawn[0] == drawn[1]
    shown = pd.read_csv(tmp_path / "a.csv")
    assert shown["kind"].value_counts().to_dict() == {"published": 15, "measured": 5}
    measured = shown[(shown["backend"] == "torch") & (shown["precision"] == "float32")].iloc[0]
    assert (measured["value"], measured["runs"]) == (pytest.approx(0.155), 3)


def test_the_figure_tells_measured_from_published_and_stays_inside():
    runs = varied_table()
    drawn = plot_accelerators.collect(ROWS, runs, LABELS)
    figure = plot_accelerators.draw(drawn, runs, PALETTE, "Accelerators")
    text = texts_of(figure)
    for words in ("measured here, cpu, float32", "as published", "vendor", "100,000+", "83"):
        assert words in text
    above = figure.axes[0]
    assert above.get_xscale() == "log"
    peaks = [float(row.value) for row in drawn.published["peak_throughput"]]
    assert peaks == sorted(peaks)
    for axes in figure.axes:
        for one in [*axes.texts, *axes.get_yticklabels()]:
            assert one.get_window_extent().x0 >= -1
            assert one.get_window_extent().x1 <= figure.bbox.width + 1, one.get_text()
