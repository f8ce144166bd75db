"""Throughput by batch size: published bars, measured ones, and both relative to the smallest batch."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paragone.analysis import published, run_states
from paragone.analysis.grouping import BY_BATCH, Series, series_of
from paragone.analysis.published import Row
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.interactive import Chart, Panel, long
from paragone.reporting.marks import (
    BAR_COLUMNS,
    PUBLISHED_BARS,
    bar_rows,
    draw_bars,
    legend_line,
    legend_over_bars,
    published_row,
    row_name,
)
from paragone.reporting.style import Frame

ACROSS = 3  # panels per row
BATCH = "batch size (examples)"


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per bar and run.

    Panel `relative` is over the smallest published batch, by seed, or over the smallest of a backend that did
    not run it.
    """
    found, rows = [], _published(inputs)
    smallest = min(rows, key=lambda row: row.global_batch or 0, default=None)
    for panel, unit in (("published", 1.0), ("relative", smallest.number if smallest else 1.0)):
        found += [published_row(panel, r.global_batch, r.number / unit, r.printed) for r in rows]
    for sweep in inputs.sweeps(*BY_BATCH):
        cells = series_of(sweep.runs, inputs.labels, inputs.windows)
        base = _base(cells, smallest.global_batch if smallest else None)
        for cell in cells:
            about = sweep.label, sweep.backend, cell.global_batch
            words = run_states.not_timed(cell)
            found += bar_rows("measured", *about, cell.named(cell.speeds), words)
            if base is not None:
                ratios = (cell.speeds / base.speeds).dropna()
                found += bar_rows("relative", *about, cell.named(ratios), words)
    table = pd.DataFrame(found).reindex(columns=BAR_COLUMNS)
    return table.sort_values("x", kind="stable", ignore_index=True)


def _published(inputs: Inputs) -> list[Row]:
    return [row for row in inputs.published if row.metric == "throughput" and row.global_batch]


def _base(cells: list[Series], batch: int | None) -> Series | None:
    speedy = [cell for cell in cells if len(cell.speeds)]
    same = [cell for cell in speedy if cell.global_batch == batch]
    return same[0] if same else min(speedy, key=lambda cell: cell.global_batch, default=None)


def chart(points: pd.DataFrame) -> Chart:
    """Return a chart of the same panels."""
    titles = {
        "published": "published throughput (images/s)",
        "measured": "steady throughput (examples/s)",
        "relative": "throughput over the smallest batch",
    }
    axes = {name: Panel(BATCH, title, log_x=True) for name, title in titles.items()}
    return Chart(long(points), axes)


def remarks(points: pd.DataFrame, inputs: Inputs, model: dict[str, str]) -> list[str]:
    """Return remarks on intervals, and on the published `model` where it differs from the measured one."""
    texts, runs = [footnotes.STEADY], inputs.runs
    if (points["panel"] == "published").any():
        texts.append("Published on other hardware: compare the shape, not the height.")
    settings = sorted(set(runs["model_settings"].dropna()))
    others = [
        f"{key} {here}, published {there}"
        for key, there in model.items()
        for here in sorted({published.settings(text).get(key, "not set") for text in settings})
        if here != there
    ]
    if others:
        texts.append(f"Not the published model: {'; '.join(others)}.")
    medians = points[(points["panel"] == "measured") & (points["kind"] == "median")]
    return [*texts, footnotes.repeats(medians["n"], inputs.series)]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw one bar chart per system over the same batch sizes, and all relative in one."""
    names = {sweep.label: sweep.backend for sweep in inputs.sweeps(*BY_BATCH)}
    star = {"color": style.PUBLISHED, "marker": "*", "markersize": 5.5, "linestyle": "--"}
    styles = {"published": star, **style.series_styles(names, names.values(), inputs.palette)}
    if not (points["panel"] == "published").any():
        del styles["published"]
    colors = {name: own["color"] for name, own in styles.items()} | {"published": PUBLISHED_BARS}
    deep = -(-(len(styles) + 1) // ACROSS)
    systems = dict.fromkeys(row.system for row in _published(inputs))
    model = {k: v for name in systems for k, v in inputs.protocols[name].model.items()}
    about = remarks(points, inputs, model)
    relative = points[points["panel"] == "relative"]
    relative = relative[relative["kind"].isin(["published", "median"])]
    ones = relative[relative["value"] == 1]
    bases = dict(zip(ones["series"], ones["x"], strict=True))
    base = bases.get("published") or next(iter(bases.values()), "")
    handles = [
        legend_line(name if bases[name] == base else f"{name} (to batch {bases[name]})", **own)
        for name, own in styles.items()
        if name in bases
    ]
    if (points["kind"] == "run").any():
        handles += legend_over_bars()
    frame = Frame(style.DOUBLE, 1.75 * deep, inputs.title, inputs.runs, about, handles)
    grid = frame.figure.add_gridspec(deep, ACROSS)
    for at, name in enumerate(styles):
        axes = frame.figure.add_subplot(grid[divmod(at, ACROSS)])
        here = points[(points["panel"] != "relative") & (points["series"] == name)]
        draw_bars(axes, here, {name: colors[name]}, None)
        axes.set_title(row_name(name), loc="left")
        axes.set_ylabel("examples/s")
        _name_batches(axes)
    row, column = divmod(len(styles), ACROSS)
    axes = frame.figure.add_subplot(grid[row, column:])  # what is left of the last row
    axes.set_title(f"relative to batch {base}", loc="left")
    _draw_relative(axes, relative, list(dict.fromkeys(points["x"])), styles)
    return frame.figure


def _draw_relative(
    axes: Axes, points: pd.DataFrame, xs: list[int], styles: dict[str, dict[str, Any]]
) -> None:
    for place, (name, own) in enumerate(styles.items()):
        # No line across batches without a value.
        here = points[points["series"] == name].set_index("x").reindex(xs)
        at = [position + 0.08 * (place - len(styles) / 2) for position in range(len(xs))]
        axes.plot(at, here["value"], **{**own, "linewidth": 0.9})
        axes.vlines(at, here["low"], here["high"], color=own["color"], linewidth=0.9)
    axes.set_ylabel("throughput ratio")
    axes.set_xticks(range(len(xs)), [str(x) for x in xs])
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    _name_batches(axes)


def _name_batches(axes: Axes) -> None:
    axes.set_xlabel(BATCH)
    if len(axes.get_xticks()) > 6:
        axes.tick_params(axis="x", labelsize=5.5)
