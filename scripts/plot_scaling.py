"""Draw step time, speed-up and efficiency by replicas: measured, ideal, and by the cost model."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis import tidy
from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import (
    SHARED,
    Point,
    batch_at,
    fixed_batch,
    points_of,
    scaling_kind,
    table_of,
)
from paragone.analysis.scaling.model import Calibrated, read_models
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

PANELS = {
    "step_seconds": "step time (ms)",
    "speed_up": "speed-up over one replica",
    "efficiency": "efficiency (speed-up / replicas)",
}
SCALE = {"step_seconds": 1e3, "speed_up": 1.0, "efficiency": 1.0}
HEIGHT = 2.1  # inches
DODGE = 1.035  # between backends, so that intervals stand side by side


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__)
    parser.add_argument("--models", type=Path, required=True, help="what fit_scaling.py wrote")
    options = parser.parse_args(arguments)
    runs = tidy.read(options.runs)
    points = points_of(runs, pairs(options.labels))
    shown = shown_of(points, runs, read_models(options.models))
    figure = draw(shown, runs, pairs(options.palette), options.title)
    style.save(figure, options.output)
    tidy.write(shown, options.sidecar)


def shown_of(points: list[Point], runs: pd.DataFrame, models: list[Calibrated]) -> pd.DataFrame:
    """What is drawn: `kind` measured, one row a cell; `kind` model, one row a number of replicas."""
    how, workload = scaling_kind(runs), runs["workload"].iloc[0]
    most = max(point.replicas for point in points)
    found = [table_of(points).assign(kind="measured")]
    for label in dict.fromkeys(point.label for point in points):
        own = [point for point in points if point.label == label]
        key = (workload, own[0].backend, own[0].machine)
        known = (one for one in models if one.model)
        one = next((m for m in known if (m.workload, m.backend, m.machine) == key), None)
        if one:
            found.append(_curve(label, own, one, how, most))
    return pd.concat(found, ignore_index=True)


def _curve(label: str, own: list[Point], one: Calibrated, how: str, most: int) -> pd.DataFrame:
    counts = range(1, most + 1)
    seconds = [one.model.seconds(n, batch_at(own, how, n)) for n in counts]
    curve = pd.DataFrame({"replicas": counts, "step_seconds": seconds})
    work = np.array([n * batch_at(own, how, n) for n in counts])  # examples of a step
    rate = work / curve["step_seconds"]
    curve["speed_up"] = rate / rate[0]
    curve["efficiency"] = curve["speed_up"] / curve["replicas"]
    about = {"series": label, "backend": own[0].backend, "kind": "model"}
    about |= {"words": one.error_words, "runs": one.runs}
    return curve.assign(**about)


def draw(shown: pd.DataFrame, runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure: three panels over the number of replicas, one colour a backend."""
    how = scaling_kind(runs)
    measured, model = (shown[shown["kind"] == kind] for kind in ("measured", "model"))
    series = shown[["series", "backend"]].drop_duplicates()
    looks = {
        label: {"color": style.color(palette, name), "marker": style.marker(palette, name)}
        for label, name in series.itertuples(index=False)
    }
    shared = shares_cores(runs)
    handles = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    grey = {"color": style.MUTED, "marker": "none"}
    if len(model):
        handles.append(Line2D([], [], linestyle="--", linewidth=0.9, label="cost model", **grey))
    handles.append(Line2D([], [], linestyle=":", label="ideal, a device each", **grey))
    if shared:
        handles.append(
            Line2D(
                [], [], linestyle=(0, (6, 2)), linewidth=0.7, label="ideal, shared cores", **grey
            )
        )
    frame = Frame(style.DOUBLE, HEIGHT, title, runs, remarks(shown, runs, how), handles)
    grid = frame.figure.subplots(1, len(PANELS))
    counts = sorted(set(measured["replicas"]))
    for axes, column in zip(grid, PANELS, strict=True):
        _draw_ideal(axes, column, counts, shared)
        for number, (label, look) in enumerate(looks.items()):
            aside = DODGE ** (number - (len(looks) - 1) / 2)
            _draw_model(axes, model[model["series"] == label], column, look)
            _draw_measured(axes, measured[measured["series"] == label], column, look, aside)
        _dress(axes, column, counts)
    return frame.figure


def _draw_measured(axes: Axes, here: pd.DataFrame, column: str, look: dict, aside: float) -> None:
    here = here.dropna(subset=column)
    scale = SCALE[column]
    low, high = (
        (sign * scale * (here[f"{column}_{end}"] - here[column])).fillna(0)
        for end, sign in (("low", -1), ("high", 1))
    )
    axes.errorbar(
        here["replicas"] * aside,
        scale * here[column],
        yerr=[low, high],
        linestyle="none",
        elinewidth=0.9,
        capsize=1.8,
        capthick=0.9,
        markersize=4,
        markeredgecolor="white",
        markeredgewidth=0.4,
        zorder=3,
        **look,
    )


def _draw_model(axes: Axes, here: pd.DataFrame, column: str, look: dict) -> None:
    axes.plot(
        here["replicas"],
        SCALE[column] * here[column],
        linestyle="--",
        linewidth=0.9,
        color=look["color"],
        alpha=0.9,
    )


def _draw_ideal(axes: Axes, column: str, counts: list[int], shared: bool) -> None:
    """Lines of the ideal: the work shared out over n devices, or over the same cores."""
    n = np.arange(min(counts), max(counts) + 1, dtype=float)
    if column == "step_seconds":
        return  # each backend has its own
    own, cores = (n, np.ones_like(n)) if column == "speed_up" else (np.ones_like(n), 1 / n)
    axes.plot(n, own, linestyle=":", color=style.MUTED, linewidth=1.2)
    if shared:
        axes.plot(n, cores, linestyle=(0, (6, 2)), color=style.MUTED, linewidth=0.7)


def _dress(axes: Axes, column: str, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(counts) / 1.2, max(counts) * 1.2)
    axes.set_xlabel("replicas")
    axes.set_ylabel(PANELS[column])
    axes.grid(axis="y")
    if column == "speed_up":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def remarks(shown: pd.DataFrame, runs: pd.DataFrame, how: str) -> list[str]:
    """Which batch is fixed, how far off the model is, and what has no value."""
    measured, model = (shown[shown["kind"] == kind] for kind in ("measured", "model"))
    fixed = "global batch" if how == "strong" else "batch per replica"
    found = [f"{how.capitalize()} scaling: {fixed} {fixed_batch(runs):,}."]
    if shares_cores(runs):
        found.append(SHARED)
    found += [
        f"Model of {label}: {words}."
        for label, words in model[["series", "words"]].drop_duplicates().itertuples(index=False)
    ]
    gone = measured[measured["words"].astype(bool)]
    found += [
        f"{row['series']}, {row['replicas']} replica(s): {row['words']}."
        for _, row in gone.iterrows()
    ]
    return [*found, footnotes.repeats(measured["n"].astype(int).tolist())]


if __name__ == "__main__":
    main()
