"""Draw losses and test accuracy by epoch: a curve a series, variants of the workload side by side."""

from pathlib import Path

import pandas as pd

from paragone.analysis import published, tidy
from paragone.analysis.grouping import Series, series_of
from paragone.analysis.match_runs import Cell
from paragone.analysis.published import Protocol, Row
from paragone.analysis.statistics import summarize_by
from paragone.base.errors import entry_point
from paragone.reporting.drawing import style
from paragone.reporting.drawing.curves import METRICS, draw
from paragone.reporting.options import figure_parser, pairs


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__, epochs=True)
    parser.add_argument("--published", type=Path, help="published.csv")
    parser.add_argument("--protocols", type=Path, help="published conditions, CSV")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    options = parser.parse_args(arguments)
    runs, epochs = tidy.read(options.runs), tidy.read(options.epochs)
    rows, protocols = [], {}
    if options.published and options.protocols and options.published_experiment:
        rows = published.read_rows(options.published, options.published_experiment)
        protocols = published.read_protocols(options.protocols, options.published_experiment)
    series = series_of(runs, pairs(options.labels))
    shown = points(series, epochs, rows, protocols)
    remarks = conditions(rows, protocols, runs, epochs)
    figure = draw(series, shown, runs, pairs(options.palette), options.title, remarks)
    style.save(figure, options.output)
    tidy.write(shown, options.sidecar)


def points(
    series: list[Series],
    epochs: pd.DataFrame,
    rows: list[Row],
    protocols: dict[str, Protocol],
) -> pd.DataFrame:
    """What is drawn. `kind` is median (over completed runs), stopped (a run that was not
    completed) or published; `value` with `low`, `high`, `n` and the names of the `runs`.

    Test loss is among it where the sources print it by epoch.
    """
    workloads = {one.workload for one in series}
    beside = _beside(rows, protocols, workloads)
    metrics = [name for name in METRICS if name != "test_loss" or _by_epoch(beside, name)]
    parts = []
    for one in series:
        for metric in metrics:
            measured = epochs[epochs["run"].isin(one.measured["run"])]
            names = measured.groupby("epoch")["run"].agg(lambda run: " ".join(sorted(run)))
            median = summarize_by(measured, ["epoch"], metric).rename(columns={"median": "value"})
            median["runs"] = median["epoch"].map(names)
            stopped = epochs[epochs["run"].isin(one.runs["run"])]
            stopped = stopped[~stopped["run"].isin(one.measured["run"])]
            stopped = stopped.rename(columns={metric: "value", "run": "runs"})
            stopped = stopped[["epoch", "value", "runs"]].assign(n=1)
            about = {"workload": one.workload, "series": one.label, "metric": metric}
            parts += [
                median.assign(kind="median", **about),
                stopped.assign(kind="stopped", **about),
            ]
    parts.append(
        pd.DataFrame(
            [
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
        )
    )
    columns = ["kind", "workload", "series", "metric", "epoch", "value", "low", "high", "n", "runs"]
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True).reindex(columns=columns)


def _beside(
    rows: list[Row], protocols: dict[str, Protocol], workloads: set[str]
) -> list[tuple[Row, str]]:
    """The published values by epoch, each with the measured workload that it stands beside."""
    found = [
        (row, protocols[row.system].workload if row.system in protocols else "")
        for row in rows
        if row.metric in METRICS and row.epoch is not None
    ]
    return [(row, workload) for row, workload in found if workload in workloads]


def _by_epoch(beside: list[tuple[Row, str]], metric: str) -> bool:
    return len({row.epoch for row, _ in beside if row.metric == metric}) > 1


def conditions(
    rows: list[Row], protocols: dict[str, Protocol], runs: pd.DataFrame, epochs: pd.DataFrame
) -> list[str]:
    """One sentence on what differs from the published conditions; none if nothing does."""
    completed = runs[runs["status"] == "completed"]
    found: dict[str, None] = {}
    for row, workload in _beside(rows, protocols, set(completed["workload"])):
        same = completed[completed["workload"] == workload]
        cell = Cell(same, epochs[epochs["run"].isin(same["run"])], protocols[row.system])
        found |= dict.fromkeys(cell.differences(row))
    return [f"Not the published conditions: {'; '.join(found)}."] if found else []


if __name__ == "__main__":
    main()
