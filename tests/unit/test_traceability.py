"""From each point of a figure and each cell of a table one finds its runs."""

import re

import pandas as pd
import pytest
from draw_figures import FIGURES, Drawing, varied
from judge_rows import REUTERS, tabulated
from make_experiments import batch_sizes, mobilenet, multiworker, reuters, to_target
from make_products import varied_table
from make_tables import beside, write
from tracing import named_runs

RECORDS = {
    **dict.fromkeys(FIGURES, varied),
    "epoch_time": mobilenet,
    "batch_size_throughput": batch_sizes,
    "time_to_target": to_target,
}
BESIDE = {
    "epoch_time": "mirrored_mobilenet",
    "batch_size_throughput": "batch_size_throughput",
}


@pytest.mark.parametrize("figure", RECORDS)
def test_every_point_of_a_figure_names_its_runs(tmp_path, figure):
    drawing = Drawing.of(tmp_path, RECORDS[figure]())
    rows = drawing.shown(figure, BESIDE.get(figure, ""))
    named = named_runs(rows)
    assert named
    assert named <= set(drawing.runs["run"])
    column = "runs" if "runs" in rows else "run"
    values = [name for name in ("value", "seconds", "steady_examples_per_second") if name in rows]
    for value in values:
        assert rows.loc[rows[value].notna(), column].notna().all()


@pytest.mark.parametrize(
    ("records", "experiment"),
    [
        (mobilenet, "mirrored_mobilenet"),
        (multiworker, "multiworker_mobilenet"),
        (reuters, "reuters_strategies"),
        (batch_sizes, "batch_size_throughput"),
    ],
)
def test_every_cell_of_a_comparison_names_its_runs(tmp_path, records, experiment):
    runs, epochs = tabulated(records())
    written = write(tmp_path, "comparison", *beside(experiment), runs=runs, epochs=epochs)
    table = pd.read_csv(written["csv"], dtype=str)
    assert named_runs(table) <= set(runs["run"])
    judged = table[table["n"].notna()]
    assert (judged["runs"].str.split().str.len() >= judged["n"].astype(float)).all()
    assert table.loc[table["why"].str.contains("other hardware"), "runs"].notna().all()
    for kind in ("markdown", "latex"):  # too long for a page
        assert not re.search(r"\.s0\.", written[kind].read_text())


def test_every_cell_of_a_table_by_epoch_names_its_runs(tmp_path):
    runs, epochs = tabulated(reuters(seeds=2))
    written = write(tmp_path, "epochs", *beside(REUTERS), runs=runs, epochs=epochs)
    table = pd.read_csv(written["csv"])
    measured = table[table["source"] != "published"]
    assert named_runs(table) <= set(runs["run"])
    assert (measured["runs"].str.split().str.len() == measured["n"]).all()


@pytest.mark.parametrize(
    ("name", "experiment"),
    [
        ("matmul_comparison", "device_matmul"),
        ("accelerator_reference", "accelerator_reference"),
    ],
)
def test_every_measured_product_is_found_by_its_name(tmp_path, name, experiment):
    runs = varied_table()
    assert runs["name"].dropna().is_unique
    written = write(tmp_path, name, *beside(experiment), labels={}, products=runs)
    named = named_runs(pd.read_csv(written["csv"]))
    assert named <= set(runs["name"].dropna())
    assert len(named) >= 3
