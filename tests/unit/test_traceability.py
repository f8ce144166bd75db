"""Each point of a figure and each cell of a table names its runs; other tables: the smoke run."""

import re

import pandas as pd
import pytest
from draw_figures import FIGURES, Drawing, varied
from judge_rows import tabulated
from make_experiments import batch_sizes, mobilenet, to_target
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
    if {"kind", "n", "value"} <= {*rows}:
        medians = rows[(rows["kind"] == "median") & rows["value"].notna()]
        assert (medians["runs"].str.split().str.len() == medians["n"]).all()


def test_every_cell_of_a_comparison_names_its_runs(tmp_path):
    runs, epochs = tabulated(mobilenet())
    written = write(tmp_path, "comparison", *beside("mirrored_mobilenet"), runs=runs, epochs=epochs)
    table = pd.read_csv(written["csv"], dtype=str)
    assert named_runs(table) <= set(runs["run"])
    judged = table[table["n"].notna()]
    assert (judged["runs"].str.split().str.len() >= judged["n"].astype(float)).all()
    assert table.loc[table["why"].str.contains("other hardware"), "runs"].notna().all()
    for kind in ("markdown", "latex"):  # too long for a page
        assert not re.search(r"\.s0\.", written[kind].read_text())
