"""A step over mapped arrays beside the same step fed by a loader: what the loader adds is input."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import run_states
from paragone.analysis.grouping import Series, by_work
from paragone.analysis.input_share import SPEED, InputShare, names, shares
from paragone.analysis.pairwise import by_seed
from paragone.analysis.statistics import summarize
from paragone.reporting import footnotes
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.rows import make_room, row_axes, write_value, write_words
from paragone.reporting.inputs import Inputs

ROW = 0.34  # inches per series
EDGE = {"linewidth": 0.6, "height": 0.56}
HATCH = "//////"
SHARES = (
    "Hatched: what the loader adds to the median step of the same engine over mapped arrays. Input: that "
    "share of a step, geometric mean over pairs of one seed [95 % interval by sign flips, from six pairs on]."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per run, milliseconds of its steady step, beside what is drawn of its series.

    That is median, interval and input share. `arrays_ms`: of the series of the same engine over mapped
    arrays; of itself where it is that.
    """
    beside = {one.loader.label: one for one in shares(inputs.series)}
    called = names(inputs.series, inputs.labels)
    parts = [
        _of_series(one, beside.get(one.label)).assign(series=called[one.label])
        for one in _ordered(inputs.series, beside)
    ]
    return pd.concat(parts, ignore_index=True)


def _ordered(series: list[Series], beside: dict[str, InputShare]) -> Iterator[Series]:
    """Work by work, each loader below the series over mapped arrays that it is compared with."""
    for same in by_work(series).values():
        for one in (one for one in same if one.label not in beside):
            yield one
            yield from (
                each for each in same if each.label in beside and beside[each.label].arrays is one
            )


def _of_series(one: Series, beside: InputShare | None) -> pd.DataFrame:
    workload, batch = one.runs[["workload", "global_batch"]].iloc[0]
    steps = 1e3 * batch / by_seed(one, SPEED).astype("float64")
    found = summarize(steps)
    about = {f"{name}_ms": value for name, value in vars(found).items() if name != "n"}
    about |= {"n": found.n, "words": "; ".join(run_states.no_speed(one.runs))}
    if beside and beside.n:
        share = beside.share
        about |= {"arrays_ms": 1e3 * beside.step_seconds("arrays"), "pairs": beside.n}
        about |= {"share": share.value, "share_low": share.low, "share_high": share.high}
    else:
        about |= {"arrays_ms": found.median, "pairs": 0}
    rows = one.runs[["run", "seed", "loader"]].assign(step_ms=one.runs["seed"].map(steps))
    rows.insert(0, "work", f"{workload}, batch {batch:,}")
    rows.insert(1, "series", "")
    return rows.assign(_backend=one.backend, **about)


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: axes per kind of work, a bar per series."""
    works = dict(list(points.groupby("work", sort=False)))
    rows = [part["series"].nunique() for part in works.values()]
    frame = Frame(
        style.DOUBLE,
        ROW * sum(rows) + 0.46 * len(works),
        inputs.title,
        inputs.runs,
        _remarks(points),
        _handles(),
    )
    axes_of = frame.figure.subplots(len(works), squeeze=False, height_ratios=rows)[:, 0]
    for axes, (work, part) in zip(axes_of, works.items(), strict=True):
        _draw_work(axes, part, inputs)
        axes.set_title(work, loc="left")
    return frame.figure


def _draw_work(axes: Axes, part: pd.DataFrame, inputs: Inputs) -> None:
    series = dict(list(part.groupby("series", sort=False)))
    row_axes(axes, list(series), "step (ms)")
    texts = []
    for row, runs in enumerate(series.values()):
        one = runs.iloc[0]
        if not one["n"]:
            write_words(axes, row, one["words"] or "speed window too short")
            continue
        _draw_bar(axes, row, one, style.color(inputs.palette, one["_backend"]))
        axes.plot(
            runs["step_ms"], [row] * len(runs), "o", color=style.INK, alpha=0.6, markersize=2.2
        )
        if not math.isnan(one["low_ms"]):
            axes.hlines(row, one["low_ms"], one["high_ms"], color=style.INK, linewidth=0.9)
        end = max(runs["step_ms"].max(), one["high_ms"] if one["n"] > 1 else 0)
        texts.append(write_value(axes, row, end, _value(one), one["words"]))
    axes.set_xlim(left=0)
    make_room(axes, texts)


def _draw_bar(axes: Axes, row: int, one: pd.Series, color: str) -> None:
    """The step over mapped arrays in the backend's color, and what the loader adds, hatched."""
    plain = min(one["arrays_ms"], one["median_ms"])
    axes.barh(row, plain, facecolor=color, edgecolor=color, alpha=0.45, **EDGE)
    if (added := one["median_ms"] - plain) > 0:
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": color, "hatch": HATCH}
        axes.barh(row, added, left=plain, **look, **EDGE)


def _value(one: pd.Series) -> str:
    median = one["median_ms"]
    text = f"{median:,.0f} ms" if median >= 100 else f"{median:.3g} ms"
    if not one["pairs"]:
        return f"{text} (n = {one['n']})"
    ends = f" [{100 * one['share_low']:.0f}, {100 * one['share_high']:.0f}]"
    known = "" if math.isnan(one["share_low"]) else ends
    return f"{text}, input {100 * one['share']:.0f} %{known} (n = {one['pairs']})"


def _handles() -> list[Artist]:
    edge = {"edgecolor": style.MUTED, "linewidth": 0.6}
    return [
        Patch(facecolor=style.MUTED, alpha=0.45, label="step over mapped arrays", linewidth=0),
        Patch(facecolor="white", hatch=HATCH, label="added by the loader: input", **edge),
        *legend.over_bars(),
    ]


def _remarks(points: pd.DataFrame) -> list[str]:
    counts = points.drop_duplicates("series")["n"].tolist()
    return [SHARES, footnotes.STEADY, footnotes.repeats(counts)]
