"""Losses and test accuracy by epoch: one curve per series, variants of the workload side by side."""

import pandas as pd
from matplotlib.figure import Figure

from paragone.analysis.grouping import Series
from paragone.analysis.match_runs import Cell
from paragone.analysis.published import Row
from paragone.analysis.statistics import summarize_by
from paragone.reporting.drawing import curves
from paragone.reporting.inputs import Inputs

COLUMNS = ["kind", "workload", "series", "metric", "epoch", "value", "low", "high", "n", "runs"]


def points(inputs: Inputs) -> pd.DataFrame:
    """What is drawn. `kind` is median (over completed runs), stopped (a run that was not
    completed) or published; `value` with `low`, `high`, `n` and the names of the `runs`.

    Test loss is included where the sources print it by epoch.
    """
    beside = _beside(inputs, {one.workload for one in inputs.series})
    printed = {row.epoch for row, _ in beside if row.metric == "test_loss"}
    metrics = [name for name in curves.METRICS if name != "test_loss" or len(printed) > 1]
    parts = [
        part
        for one in inputs.series
        for metric in metrics
        for part in _measured(one, inputs.epochs, metric)
    ]
    rows = [
        {
            "workload": workload,
            "series": row.system,
            "metric": row.metric,
            "epoch": row.epoch,
            "value": float(row.value),
            "runs": row.printed,
            "kind": "published",
        }
        for row, workload in beside
        if row.metric in metrics
    ]
    filled = [part for part in [*parts, pd.DataFrame(rows)] if len(part)]
    return pd.concat(filled, ignore_index=True).reindex(columns=COLUMNS)


def _measured(one: Series, epochs: pd.DataFrame, metric: str) -> list[pd.DataFrame]:
    """The medians of the completed runs, and each run that stopped."""
    completed = epochs["run"].isin(one.measured["run"])
    names = epochs[completed].groupby("epoch")["run"].agg(lambda run: " ".join(sorted(run)))
    median = summarize_by(epochs[completed], ["epoch"], metric).rename(columns={"median": "value"})
    median["runs"] = median["epoch"].map(names)
    stopped = epochs[epochs["run"].isin(one.runs["run"]) & ~completed]
    stopped = stopped.rename(columns={metric: "value", "run": "runs"})[["epoch", "value", "runs"]]
    about = {"workload": one.workload, "series": one.label, "metric": metric}
    return [median.assign(kind="median", **about), stopped.assign(n=1, kind="stopped", **about)]


def _beside(inputs: Inputs, workloads: set[str]) -> list[tuple[Row, str]]:
    """The published values by epoch, each with the measured workload that it stands beside."""
    systems = {system: protocol.workload for system, protocol in inputs.protocols.items()}
    found = [
        (row, systems.get(row.system, ""))
        for row in inputs.published
        if row.metric in curves.METRICS and row.epoch is not None
    ]
    return [(row, workload) for row, workload in found if workload in workloads]


def conditions(inputs: Inputs) -> list[str]:
    """One sentence on what differs from the published conditions; none if nothing does."""
    completed = inputs.runs[inputs.runs["status"] == "completed"]
    found: dict[str, None] = {}
    for row, workload in _beside(inputs, set(completed["workload"])):
        same = completed[completed["workload"] == workload]
        epochs = inputs.epochs[inputs.epochs["run"].isin(same["run"])]
        cell = Cell(same, epochs, inputs.protocols[row.system])
        found |= dict.fromkeys(cell.differences(row))
    return [f"Not the published conditions: {'; '.join(found)}."] if found else []


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: one row of panels, or with several workloads one row per metric and one column
    per workload."""
    return curves.draw(points, inputs, conditions(inputs))
