"""Draw training loss and test accuracy by epoch: a curve a backend, the published points beside."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from paragone import notes, published, tables
from paragone.errors import entry_point
from paragone.figures import style
from paragone.figures.frame import Frame
from paragone.options import figure_parser, pairs
from paragone.series import Series, series_of
from paragone.statistics import summarize_by

PANELS = {"train_loss": "training loss (nats)", "test_accuracy": "test accuracy (fraction)"}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__, epochs=True)
    parser.add_argument("--published", type=Path, help="published.csv")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    options = parser.parse_args(arguments)
    runs, epochs = tables.read(options.runs), tables.read(options.epochs)
    rows = []
    if options.published and options.published_experiment:
        rows = published.read_rows(options.published, options.published_experiment)
    series = series_of(runs, pairs(options.labels))
    shown = points(series, epochs, rows)
    remarks = _protocol(options.published_experiment, runs, epochs) if rows else []
    figure = draw(series, shown, runs, pairs(options.palette), options.title, remarks)
    style.save(figure, options.output)
    tables.write(shown, options.sidecar)


def points(series: list[Series], epochs: pd.DataFrame, rows: list[published.Row]) -> pd.DataFrame:
    """What is drawn. `kind` is median (over completed runs), stopped (a run that was not
    completed) or published; `value` with `low`, `high`, `n` and the names of the `runs`."""
    parts = []
    for one in series:
        for metric in PANELS:
            measured = epochs[epochs["run"].isin(one.measured["run"])]
            names = measured.groupby("epoch")["run"].agg(lambda run: " ".join(sorted(run)))
            median = summarize_by(measured, ["epoch"], metric).rename(columns={"median": "value"})
            median["runs"] = median["epoch"].map(names)
            stopped = epochs[epochs["run"].isin(one.runs["run"])]
            stopped = stopped[~stopped["run"].isin(one.measured["run"])]
            stopped = stopped.rename(columns={metric: "value", "run": "runs"})
            stopped = stopped[["epoch", "value", "runs"]].assign(n=1)
            about = {"series": one.label, "metric": metric}
            parts += [
                median.assign(kind="median", **about),
                stopped.assign(kind="stopped", **about),
            ]
    parts.append(
        pd.DataFrame(
            [
                {
                    "series": row.system,
                    "metric": row.metric,
                    "epoch": row.epoch,
                    "value": float(row.value),
                    "runs": row.printed,
                    "kind": "published",
                }
                for row in rows
                if row.metric in PANELS and row.epoch is not None
            ]
        )
    )
    columns = ["kind", "series", "metric", "epoch", "value", "low", "high", "n", "runs"]
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True).reindex(columns=columns)


def draw(
    series: list[Series],
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    palette: dict[str, str],
    title: str,
    remarks: Sequence[str] = (),
) -> Figure:
    """The figure: two panels over the epochs. `remarks` go below it, after its own."""
    looks = {
        one.label: {
            "color": style.color(palette, one.backend),
            "linestyle": style.LINES[one.number % len(style.LINES)],
            "marker": style.MARKERS[list(palette).index(one.backend) % len(style.MARKERS)]
            if one.backend in palette
            else "o",
        }
        for one in series
    }
    frame = Frame(
        style.DOUBLE,
        2.15,
        title,
        runs,
        [*_remarks(series), *remarks],
        _handles(series, shown, looks),
    )
    last = _last_epoch(shown)
    for axes, metric in zip(frame.figure.subplots(1, 2), PANELS, strict=True):
        here = shown[shown["metric"] == metric]
        for label, look in looks.items():
            _draw_series(axes, here[here["series"] == label], look)
        _draw_published(axes, here[here["kind"] == "published"], last)
        axes.set_xlabel("epoch")
        axes.set_ylabel(PANELS[metric])
        axes.set_xlim(1 - 0.04 * max(last - 1, 1), last + 0.04 * max(last - 1, 1))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        axes.grid(axis="y")
        if metric == "test_accuracy":
            _draw_target(axes, runs)
        else:
            _scale_loss(axes, here)
    return frame.figure


def _protocol(experiment: str, runs: pd.DataFrame, epochs: pd.DataFrame) -> list[str]:
    protocol = published.PROTOCOLS.get(experiment)
    found = published.differences(protocol, runs, epochs) if protocol else []
    return [f"Not the published conditions: {'; '.join(found)}."] if found else []


def _remarks(series: list[Series]) -> list[str]:
    stopped = [
        f"{one.label}: {'; '.join(words)}"
        for one in series
        if (words := notes.not_completed(one.runs))
    ]
    remark = notes.repeats([len(one.measured) for one in series])
    if stopped:
        remark += f" Not completed, not in any median: {' | '.join(stopped)}."
    return [remark, *notes.unproven(series)]


def _last_epoch(shown: pd.DataFrame) -> int:
    measured = shown.loc[shown["kind"] != "published", "epoch"]
    return int(measured.max()) if len(measured) else 1


def _inside(shown: pd.DataFrame) -> bool:
    """Whether a published point lies within the measured epochs."""
    published_epochs = shown.loc[shown["kind"] == "published", "epoch"]
    return bool((published_epochs <= _last_epoch(shown)).any())


def _handles(series: list[Series], shown: pd.DataFrame, looks: dict) -> list:
    handles: list = []
    for one in series:
        words = notes.not_completed(one.runs) if one.measured.empty else []
        name = one.label + (f": {'; '.join(words)}" if words else "")
        handles.append(Line2D([], [], label=name, **looks[one.label]))
    kinds = set(shown["kind"])
    if "stopped" in kinds:
        handles.append(
            Line2D(
                [],
                [],
                color=style.MUTED,
                linewidth=0.7,
                marker="x",
                markeredgewidth=1,
                label="stopped run",
            )
        )
    if shown["low"].notna().any():
        handles.append(Patch(color=style.MUTED, alpha=0.25, linewidth=0, label="95 % interval"))
    if _inside(shown):
        handles.append(
            Line2D(
                [],
                [],
                marker="*",
                markersize=6,
                color=style.PUBLISHED,
                markeredgewidth=0,
                linestyle="none",
                label="published",
            )
        )
    return handles


def _draw_series(axes: Axes, here: pd.DataFrame, look: dict) -> None:
    median = here[here["kind"] == "median"].dropna(subset="value")
    few = len(median) <= 12  # with many epochs markers would hide the line
    axes.plot(
        median["epoch"].astype(float),
        median["value"],
        alpha=0.9,
        markeredgecolor="white",
        markeredgewidth=0.4,
        **{**look, "marker": look["marker"] if few else "none"},
    )
    band = median.dropna(subset=["low", "high"])
    axes.fill_between(
        band["epoch"].astype(float),
        band["low"],
        band["high"],
        color=look["color"],
        alpha=0.18,
        linewidth=0,
    )
    for _, run in here[here["kind"] == "stopped"].groupby("runs"):
        finite = run.dropna(subset="value")
        axes.plot(
            finite["epoch"].astype(float),
            finite["value"],
            color=look["color"],
            linewidth=0.7,
            linestyle=look["linestyle"],
        )
        axes.plot(
            finite["epoch"].astype(float)[-1:],
            finite["value"][-1:],
            marker="x",
            markersize=4.5,
            markeredgewidth=1.1,
            color=look["color"],
            linestyle="none",
        )


def _draw_published(axes: Axes, rows: pd.DataFrame, last: int) -> None:
    inside = rows[rows["epoch"] <= last]
    if len(inside):
        axes.plot(
            inside["epoch"].astype(float),
            inside["value"],
            linestyle="none",
            marker="*",
            markersize=6,
            color=style.PUBLISHED,
            markeredgewidth=0,
            zorder=4,
            clip_on=False,
        )
    elif len(rows):
        # The published epoch lies beyond the measured ones: a level, not a point.
        row = rows.iloc[-1]
        axes.axhline(row["value"], color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (4, 2)))
        _note_level(axes, row["value"], f"published: {row['runs']} after epoch {row['epoch']}")


def _draw_target(axes: Axes, runs: pd.DataFrame) -> None:
    for target in sorted(set(runs["target_accuracy"].dropna())):
        axes.axhline(target, color=style.MUTED, linewidth=0.8, linestyle=":")
        _note_level(axes, target, f"target {target:g}")


def _note_level(axes: Axes, value: float, text: str) -> None:
    note = axes.annotate(
        text,
        (0, value),
        xycoords=("axes fraction", "data"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
    )
    note.set_in_layout(False)


def _scale_loss(axes: Axes, here: pd.DataFrame) -> None:
    values = here["value"].astype(float)
    values = values[np.isfinite(values) & (values > 0)]
    if len(values) and values.max() / values.min() > 8:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


if __name__ == "__main__":
    main()
