"""Step time, speed-up and efficiency by replicas: measured, ideal, and by the cost model."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.cost import StepModel
from paragone.analysis.scaling.measured import (
    SHARED,
    Point,
    batch_at,
    fixed_batch,
    points_of,
    scaling_kind,
    table_of,
)
from paragone.analysis.scaling.model import read_models
from paragone.reporting import footnotes
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import dodged, draw_intervals, draw_lines, plain_numbers
from paragone.reporting.inputs import Inputs
from paragone.reporting.twin import MEDIAN, Panel, Twin, wide

PANELS = {  # column: what its axis says, factor to its unit
    "step_seconds": ("step time (ms)", 1e3),
    "speed_up": ("speed-up over one replica", 1.0),
    "efficiency": ("efficiency (speed-up / replicas)", 1.0),
}
HEIGHT = 2.1  # inches
DODGE = 1.035  # between backends, so that intervals stand side by side
MODEL = {"linestyle": "--", "linewidth": 0.9}
SHARED_IDEAL = {"linestyle": (0, (6, 2)), "linewidth": 0.7}


def points(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: `kind` measured, one row per cell; `kind` model, one per number of replicas."""
    runs = inputs.runs
    found = points_of(runs, inputs.labels)
    how, workload = scaling_kind(runs), runs["workload"].iloc[0]
    most = max(point.replicas for point in found)
    calibrated = reversed(read_models(inputs.paths("models")[0]))
    models = {(one.workload, one.backend, one.machine): one for one in calibrated if one.model}
    parts = [table_of(found).assign(kind="measured")]
    for label in dict.fromkeys(point.label for point in found):
        own = [point for point in found if point.label == label]
        one = models.get((workload, own[0].backend, own[0].machine))
        if one and one.model:
            curve = _curve(label, own, one.model, how, most)
            parts.append(curve.assign(words=one.error_words, runs=one.runs))
    return pd.concat(parts, ignore_index=True)


def _curve(label: str, own: list[Point], model: StepModel, how: str, most: int) -> pd.DataFrame:
    counts = range(1, most + 1)
    seconds = [model.seconds(n, batch_at(own, how, n)) for n in counts]
    curve = pd.DataFrame({"replicas": counts, "step_seconds": seconds})
    work = np.array([n * batch_at(own, how, n) for n in counts])  # examples per step
    rate = work / curve["step_seconds"]
    curve["speed_up"] = rate / rate[0]
    curve["efficiency"] = curve["speed_up"] / curve["replicas"]
    return curve.assign(series=label, backend=own[0].backend, kind="model")


def twin(points: pd.DataFrame) -> Twin:
    """The same panels; the cost model as lines."""
    rows = wide(points.replace({"kind": {"measured": MEDIAN}}), list(PANELS), x="replicas")
    rows["value"] *= rows["panel"].map({name: factor for name, (_, factor) in PANELS.items()})
    for end in ("low", "high"):
        rows[end] *= rows["panel"].map({name: factor for name, (_, factor) in PANELS.items()})
    return Twin(
        rows, {name: Panel("replicas", title, log_x=True) for name, (title, _) in PANELS.items()}
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: three panels over the number of replicas, one color per backend."""
    measured, model = (points[points["kind"] == kind] for kind in ("measured", "model"))
    looks = style.looks(points["series"], points["backend"], inputs.palette)
    shared = shares_cores(inputs.runs)
    handles = legend.series(looks)
    if len(model):
        handles.append(legend.line("cost model", **MODEL))
    handles.append(legend.line("ideal, a device each", linestyle=":"))
    if shared:
        handles.append(legend.line("ideal, shared cores", **SHARED_IDEAL))
    about = remarks(points, inputs.runs)
    frame = Frame(style.DOUBLE, HEIGHT, inputs.title, inputs.runs, about, handles)
    counts = sorted(set(measured["replicas"]))
    for axes, column in zip(frame.figure.subplots(1, len(PANELS)), PANELS, strict=True):
        _draw_ideal(axes, column, counts, shared)
        scaled = model.assign(**{column: PANELS[column][1] * model[column]})
        lines = {name: {**look, "linestyle": MODEL["linestyle"]} for name, look in looks.items()}
        more = {"markers": False, "linewidth": MODEL["linewidth"], "alpha": 0.9}
        draw_lines(axes, scaled, "replicas", column, lines, **more)
        for number, (name, look) in enumerate(looks.items()):
            here = measured[measured["series"] == name]
            _draw_measured(axes, here, column, look, dodged(number, len(looks), DODGE))
        _dress(axes, column, counts)
    return frame.figure


def _draw_measured(
    axes: Axes, here: pd.DataFrame, column: str, look: dict[str, Any], aside: float
) -> None:
    here = here.dropna(subset=column)
    value, low, high = (PANELS[column][1] * here[f"{column}{end}"] for end in ("", "_low", "_high"))
    caps = {"elinewidth": 0.9, "capsize": 1.8, "capthick": 0.9, "zorder": 3}
    dots = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.4}
    draw_intervals(axes, here["replicas"] * aside, value, low, high, **caps, **dots, **look)


def _draw_ideal(axes: Axes, column: str, counts: list[int], shared: bool) -> None:
    """Lines of the ideal: the work shared out over n devices, or over the same cores."""
    n = np.arange(min(counts), max(counts) + 1, dtype=float)
    if column == "step_seconds":
        return  # each backend has its own
    own, cores = (n, np.ones_like(n)) if column == "speed_up" else (np.ones_like(n), 1 / n)
    axes.plot(n, own, linestyle=":", color=style.MUTED, linewidth=1.2)
    if shared:
        axes.plot(n, cores, color=style.MUTED, **SHARED_IDEAL)


def _dress(axes: Axes, column: str, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(counts) / 1.2, max(counts) * 1.2)
    axes.set_xlabel("replicas")
    axes.set_ylabel(PANELS[column][0])
    axes.grid(axis="y")
    if column == "speed_up":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])  # of equal steps the margin would cut the marks
        plain_numbers(axes.yaxis)


def remarks(points: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """Which batch is fixed, how far off the model is, and what has no value."""
    how = scaling_kind(runs)
    measured, model = (points[points["kind"] == kind] for kind in ("measured", "model"))
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
    return [*found, footnotes.repeats(measured["n"])]
