"""Throughput by batch size: the published bars, those measured beside, and both relative."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paragone.analysis import published, run_states
from paragone.analysis.grouping import BY_BATCH, Series, series_of
from paragone.analysis.published import Row
from paragone.reporting import footnotes
from paragone.reporting.drawing import bars, legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.inputs import Inputs
from paragone.reporting.twin import Panel, Twin, long

ACROSS = 3  # panels per row


def points(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: one row per bar, run or point. Panel `relative`: over the smallest batch that
    the published chart and the backend have in common, by seed; else over the backend's smallest."""
    rows = _published(inputs)
    base = min(rows, key=lambda row: row.global_batch or 0, default=None)
    found = [
        bars.published_row("published", str(r.global_batch), r.number, r.printed) for r in rows
    ]
    found += [
        bars.published_row("relative", str(r.global_batch), r.number / base.number, r.printed)
        for r in rows
        if base
    ]
    for sweep in inputs.sweeps(*BY_BATCH):
        found += _measured(sweep, inputs.labels, base.global_batch if base else None)
    table = pd.DataFrame(found).reindex(columns=bars.COLUMNS)
    return table.sort_values("x", kind="stable", key=lambda x: x.astype(int), ignore_index=True)


def _published(inputs: Inputs) -> list[Row]:
    return [row for row in inputs.published if row.metric == "throughput" and row.global_batch]


def _measured(sweep: Series, labels: dict[str, str], smallest: int | None) -> list[dict]:
    """`smallest`: of the published batches."""
    cells = series_of(sweep.runs, labels)
    base = _base(cells, smallest)
    found = []
    for one in cells:
        names = one.measured.set_index("seed")["run"]
        series, x, words = sweep.label, str(_batch(one)), run_states.no_speed(one.runs)
        found += bars.bar_rows("measured", series, x, _speeds(one).rename(names), words)
        if base is not None:
            ratios = (_speeds(one) / _speeds(base)).dropna().rename(names)
            found += bars.bar_rows("relative", series, x, ratios, words)
    return found


def _batch(one: Series) -> int:
    return int(one.runs["global_batch"].iloc[0])


def _speeds(one: Series) -> pd.Series:
    """Steady examples/s of the completed runs, by seed."""
    return one.measured.set_index("seed")["steady_examples_per_second"].dropna()


def _base(cells: list[Series], batch: int | None) -> Series | None:
    speedy = [one for one in cells if len(_speeds(one))]
    same = [one for one in speedy if _batch(one) == batch]
    return same[0] if same else min(speedy, key=_batch, default=None)


def twin(points: pd.DataFrame) -> Twin:
    """Published and measured in one panel each, and both relative."""
    rows = long(points.assign(x=points["x"].astype(int)))
    titles = {
        "published": "published throughput (images/s)",
        "measured": "steady throughput (examples/s)",
        "relative": "throughput over the smallest batch",
    }
    batch = "batch size (examples)"
    return Twin(
        rows,
        {
            name: Panel(batch, title, log_x=True)
            for name, title in titles.items()
            if (rows["panel"] == name).any()
        },
    )


def remarks(points: pd.DataFrame, runs: pd.DataFrame, model: dict[str, str]) -> list[str]:
    """Interval, and the `model` that the published chart was measured with, where it differs."""
    found = [footnotes.STEADY]
    if (points["panel"] == "published").any():
        found.append("Published on other hardware: compare the shape, not the height.")
    settings = sorted(set(runs["model_settings"].dropna()))
    others = [
        f"{key} {here}, published {there}"
        for key, there in model.items()
        for here in sorted({published.settings(text).get(key, "not set") for text in settings})
        if here != there
    ]
    if others:
        found.append(f"Not the published model: {'; '.join(others)}.")
    medians = points[(points["panel"] == "measured") & (points["kind"] == "median")]
    return [*found, footnotes.repeats(medians["n"])]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: one bar chart per system over the same batch sizes, and all relative in one."""
    names = {one.label: one.backend for one in inputs.sweeps(*BY_BATCH)}
    looks = style.looks(names, names.values(), inputs.palette)
    colors = {name: look["color"] for name, look in looks.items()}
    if (points["panel"] == "published").any():
        colors = {"published": bars.INKED, **colors}
    star = {"color": style.PUBLISHED, "marker": "*", "markersize": 5.5, "linestyle": "--"}
    xs = list(dict.fromkeys(points["x"]))
    deep = -(-(len(colors) + 1) // ACROSS)
    systems = dict.fromkeys(row.system for row in _published(inputs))
    model = {k: v for name in systems for k, v in inputs.protocols[name].model.items()}
    frame = Frame(
        style.DOUBLE,
        1.75 * deep,
        inputs.title,
        inputs.runs,
        remarks(points, inputs.runs, model),
        legend.over_bars() if (points["kind"] == "run").any() else (),
    )
    grid = frame.figure.add_gridspec(deep, ACROSS)
    for at, (name, color) in enumerate(colors.items()):
        axes = frame.figure.add_subplot(grid[divmod(at, ACROSS)])
        here = points[(points["panel"] != "relative") & (points["series"] == name)]
        bars.draw_bars(axes, here, {name: color}, None)
        axes.set_title(name, loc="left")
        axes.set_ylabel("examples/s")
        _name_batches(axes)
    row, column = divmod(len(colors), ACROSS)
    axes = frame.figure.add_subplot(grid[row, column:])  # what is left of the last row
    relative = points[
        (points["panel"] == "relative") & points["kind"].isin(["published", "median"])
    ]
    _draw_relative(axes, relative, xs, {"published": star, **looks})
    return frame.figure


def _draw_relative(
    axes: Axes, points: pd.DataFrame, xs: list[str], looks: dict[str, dict[str, Any]]
) -> None:
    ones = points[points["value"] == 1]
    bases = dict(zip(ones["series"], ones["x"], strict=True))
    base = bases.get("published") or next(iter(bases.values()), "")
    for place, (name, look) in enumerate(looks.items()):
        here = points[points["series"] == name]
        if here.empty:
            continue
        here = here.set_index("x").reindex(xs)  # no line across batches without a value
        at = [position + 0.08 * (place - len(looks) / 2) for position in range(len(xs))]
        label = name if bases.get(name) == base else f"{name} (to batch {bases.get(name)})"
        axes.plot(at, here["value"], linewidth=0.9, label=label, **look)
        axes.vlines(at, here["low"], here["high"], color=look["color"], linewidth=0.9)
    axes.set_title(f"relative to batch {base}", loc="left")
    axes.set_ylabel("throughput ratio")
    axes.set_xticks(range(len(xs)), xs)
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.grid(axis="y")
    if axes.lines:
        rows = -(-len(axes.lines) // 2)
        top = axes.get_ylim()[1] / (1 - min(0.12 * rows, 0.5))  # room for the legend, at most half
        axes.set_ylim(0, top)
        spaces = {"handlelength": 1.8, "labelspacing": 0.25, "borderaxespad": 0.2}
        axes.legend(loc="upper left", ncols=2, **spaces)
    _name_batches(axes)


def _name_batches(axes: Axes) -> None:
    axes.set_xlabel("batch size (examples)")
    if len(axes.get_xticks()) > 6:
        axes.tick_params(axis="x", labelsize=5.5)
