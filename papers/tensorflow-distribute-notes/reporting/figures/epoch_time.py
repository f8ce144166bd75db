"""Epoch time by replicas and batch size, published and measured."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from paragone.analysis import grouping
from paragone.analysis.cells import Counterpart, epoch_seconds
from paragone.analysis.grouping import Series, series_of, shares_cores
from paragone.config.numbers import Protocol
from paragone.config.questions import SIZE
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per bar and run, by panel, in the order of replicas and batch.

    `extrapolated`: from steady throughput, because the epochs were shorter than `epoch_examples`.
    """
    protocols = inputs.numbers.protocols
    whole = [source.epoch_examples for source in protocols.values() if source.epoch_examples]
    examples = whole[0] if whole else int(inputs.runs["train_examples"].max())
    rows = []
    for row in inputs.numbers.rows:
        replicas, batch = key = protocols[row.system].replicas, protocols[row.system].batch_of(row)
        if replicas is not None and batch is not None:  # else the source leaves the cell open
            category = _category(replicas, batch)
            bar = marks.published_row("published", category, row.number, row.printed)
            rows.append(bar | dict(zip(SIZE, key, strict=True)))
    for sweep in inputs.sweeps():
        rows += _measured(sweep, inputs, examples)
    table = pd.DataFrame(rows)
    table = table.reindex(columns=[*marks.BAR_COLUMNS, *SIZE, "epoch_examples", "extrapolated"])
    return table.sort_values(SIZE, kind="stable", ignore_index=True)


def _measured(sweep: Series, inputs: Inputs, examples: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a backend."""
    for series in series_of(sweep.runs, inputs.labels):
        key = series.size
        place = sweep.label, sweep.backend, _category(*key)
        values, extrapolated = _seconds(series, inputs.epochs, examples)
        wording, names = grouping.no_speed(series.runs), series.measured.set_index("seed")["run"]
        bars = marks.bar_rows("measured", *place, values.rename(names), wording)
        facts = {"epoch_examples": examples, "extrapolated": extrapolated}
        yield from ({**bar, **dict(zip(SIZE, key, strict=True)), **facts} for bar in bars)


def _seconds(series: Series, epochs: pd.DataFrame, examples: int) -> tuple[pd.Series, bool | None]:
    """Return seconds per epoch of so many examples, by seed, of the runs that have a speed, and whether they
    are extrapolated; None without a run."""
    runs = series.measured.dropna(subset="steady_examples_per_second")
    if runs.empty:
        return pd.Series(dtype="float64"), None
    protocol = Protocol(workload=series.workload, epoch_examples=examples)
    cell = Counterpart(runs, epochs[epochs["run"].isin(runs["run"])], protocol)
    return epoch_seconds(cell), not cell.whole_epochs()


def _category(replicas: int, batch: int) -> str:
    return f"{replicas} replica{'s' if replicas > 1 else ''}, batch {batch:,}"


def remarks(points: pd.DataFrame, inputs: Inputs) -> list[str]:
    """Return what limits a comparison, how the epoch times were obtained, and the interval."""
    runs = inputs.runs
    medians = points[(points["panel"] == "measured") & (points["kind"] == "median")]
    shared = shares_cores(runs) and runs["replicas"].max() > 1
    texts = [footnotes.SHARED_CORES] if shared else []
    if (points["panel"] == "published").any():
        texts.append("Published on other hardware; what else differs: table of both.")
    if len(medians):
        method = f"Measured: an epoch of {int(medians['epoch_examples'].iloc[0]):,} examples"
        short = medians["extrapolated"].astype(bool)
        if short.any():
            method += f", {'' if short.all() else 'partly '}extrapolated from the steady throughput"
        texts.append(f"{method}.")
    return [*texts, footnotes.repeats(medians["n"])]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw epoch times, published and measured side by side."""
    styles = marks.cell_styles(points, inputs.sweeps(), inputs.palette, linestyle="none")
    handles = [marks.legend_mark(name, **look) for name, look in styles.items()]
    if points["low"].notna().any():
        handles.append(marks.legend_line("95 % interval", linewidth=0.9))
    facts = remarks(points, inputs)
    frame = style.Frame(style.SINGLE, 1.3, inputs.title, inputs.runs, facts, handles)
    axes = frame.subplots()
    marks.draw_cells(axes, points, styles, 0.7 / len(styles), "s", 0)
    axes.set_ylabel("epoch time (s)")
    highest = points[["value", "high"]].max().max()
    axes.set_ylim(0, 1 if pd.isna(highest) else highest * 1.15)
    marks.plain_numbers(axes.yaxis)
    return frame
