"""Peaks, comparison and figure of matrix products, from results made by hand."""

import json

import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_products import PUBLISHED, make_case, make_result, table_of, varied, varied_table
from make_tables import beside, write

import collect
from paragone.analysis import product_tables, tidy, verdicts


def test_the_peak_is_the_highest_median_of_a_square():
    found = product_tables.peaks(varied_table()).set_index(["backend", "precision"])
    # The fastest single run, 400, belongs to a size whose median is 130.
    assert found.loc[("torch", "float32"), "size"] == 512
    assert found.loc[("torch", "float32"), "median"] == pytest.approx(155e9)
    assert ("torch-xla", "bfloat16") not in found.index
    assert len(found) == 5


def test_machines_are_not_pooled(tmp_path):
    cases = [make_case((64, 64, 64), gflops=(5,))]
    made = [make_result("torch", cases, host=host) for host in ("node-1", "node-2")]
    runs = table_of(made)
    assert len(product_tables.peaks(runs)) == 2
    labels = set(Drawing(tmp_path, products=runs).draw("matmul")[1]["label"])
    assert labels == {f"PyTorch on {machine}" for machine in set(runs["machine"])}


def test_the_program_writes_every_run(tmp_path):
    paths = []
    for one in varied():
        paths.append(tmp_path / f"{one['backend']['name']}.json")
        paths[-1].write_text(json.dumps(one))
    outputs = [tmp_path / "matmul.csv", tmp_path / "matmul.parquet"]
    collect.main(["products", *map(str, ["--results", *paths, "--output", *outputs])])
    runs = tidy.read(outputs[1])
    assert len(runs) == len(pd.read_csv(outputs[0])) == 7 * 3 + (2 + 5 * 3) + (4 * 3 + 3)
    row = runs[(runs["backend"] == "torch") & (runs["m"] == 256)].iloc[1]
    assert row["flops_per_second"] == pytest.approx(100e9)
    assert row["seconds"] * row["flops_per_second"] == pytest.approx(2 * 256**3)


def compared(folder, runs, experiment="device_matmul"):
    written = write(folder, "matmul_comparison", *beside(experiment), products=runs)
    return pd.read_csv(written["csv"]).set_index("system"), written


def test_published_times_are_compared_with_those_of_their_device(tmp_path):
    found, _ = compared(tmp_path, varied_table())
    cpu, gpu = found.loc["CPU (Colab)"], found.loc["GPU (Colab)"]
    assert (cpu["published"], gpu["published"]) == ("6 s", "under 1 s")
    m, k, n = PUBLISHED
    assert float(cpu["PyTorch"].split()[0]) == pytest.approx(2 * m * k * n / 45e9, abs=5e-4)
    assert cpu["PyTorch"].endswith("s (n = 3)")
    assert cpu["TensorFlow Mirrored"] == "-"
    assert "TensorFlow Mirrored: it was out_of_memory" in cpu["why"]
    assert "other hardware" in cpu["why"]
    assert "1 s resolution" in cpu["why"]
    assert set(found["verdict"]) == {verdicts.NOT_COMPARABLE}
    assert gpu["PyTorch"] == "-"
    assert "measured on a cpu" in gpu["why"]


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    return Drawing(tmp_path_factory.mktemp("matmul"), products=varied_table())


def test_the_sidecar_holds_every_case_and_its_interval(drawing):
    shown = drawing.shown("matmul")
    assert len(shown) == 7 + 7 + 7
    row = shown[(shown["backend"] == "torch") & (shown["m"] == 512)].iloc[0]
    assert (row["median_gflops"], row["runs"], row["peak"]) == (pytest.approx(155), 3, True)
    assert row["low_gflops"] <= row["median_gflops"] <= row["high_gflops"]
    assert shown["peak"].sum() == 5


def test_the_figure_says_what_has_no_speed(drawing):
    figure = drawing.figure("matmul")
    text = texts_of(figure)
    for words in (
        "TensorFlow Mirrored, float32, 1024: out of memory",
        "PyTorch/XLA SPMD: not available",
        "n = 3 timed runs",
        "95 % bootstrap interval",
        "GFLOP/s",
        "node-1: Example CPU 3.0 GHz, 2 cores",
    ):
        assert words in text
    assert len(figure.axes) == 2
