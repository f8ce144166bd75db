"""Vertical bars over categories: medians with intervals and runs, words where there is no value."""

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from paragone.analysis.statistics import summarize
from paragone.reporting.drawing import style
from paragone.reporting.drawing.marks import plain_numbers, write

COLUMNS = ["panel", "series", "x", "kind", "value", "low", "high", "n", "runs", "words"]
INKED = "#4A4A4A"  # published bars
NOT_RUN = "not run"
NO_VALUES = pd.Series(dtype="float64")
NO_REFERENCE = "1 replica not run"
WIDTH = 0.8  # of all bars of a category, in categories
_CENTERED: dict[str, Any] = {"ha": "center", "va": "bottom", "size": 6}
_BOX = {"facecolor": "white", "edgecolor": "none"}


def bar_rows(panel: str, series: str, x: str, values: pd.Series, words: list[str]) -> list[dict]:
    """What stands over one category: the median, each run (`values` by run name), and `words`."""
    about = {"panel": panel, "series": series, "x": x, "words": "; ".join(words)}
    known = values.dropna()
    summary = vars(summarize(known))
    if not summary["n"]:
        return [{**about, "kind": "words", "n": 0}]
    median = {"kind": "median", "value": summary.pop("median"), **summary}
    runs = [{**about, "kind": "run", "value": v, "runs": run} for run, v in known.items()]
    return [
        {**about, **median, "runs": " ".join(sorted(known.index))},
        *(runs if summary["n"] > 1 else []),
    ]


def published_row(panel: str, x: str, value: float, printed: str) -> dict[str, Any]:
    """One published bar."""
    about = {"panel": panel, "series": "published", "x": x, "kind": "published"}
    return {**about, "value": value, "runs": printed, "words": ""}


def draw_bars(
    axes: Axes, rows: pd.DataFrame, xs: list[str], colors: dict[str, str], digits: int | None
) -> None:
    """Groups of bars at each of `xs`, one per series in the order of `colors`.

    `digits`: of the number on each bar; None writes none. The axis starts at zero.
    """
    rows = rows[rows["series"].isin(colors)]
    place = {"x": "x", "y": "value", "order": xs, "hue": "series", "hue_order": list(colors)}
    same: dict[str, Any] = {**place, "linewidth": 0, "ax": axes, "dodge": True, "legend": False}
    for kind, alpha in (("published", 1), ("median", 0.5)):
        bars = rows[rows["kind"] == kind]
        look = {"palette": colors, "saturation": 1, "alpha": alpha}
        sns.barplot(bars, width=WIDTH, gap=0.1, errorbar=None, **look, **same)
    ink = {"palette": dict.fromkeys(colors, style.INK), "alpha": 0.6, "size": 2.8}
    sns.stripplot(rows[rows["kind"] == "run"], jitter=False, **ink, **same)
    axes.set_xticks(range(len(xs)), xs)
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("")
    axes.grid(axis="y")
    plain_numbers(axes.yaxis)
    highest = rows[["value", "high"]].max().max()
    axes.set_ylim(0, 1 if pd.isna(highest) else highest * (1.04 if digits is None else 1.12))
    for (series, x), here in rows.groupby(["series", "x"], sort=False):
        aside = list(colors).index(series) - (len(colors) - 1) / 2
        _note(axes, xs.index(x) + aside * WIDTH / len(colors), here, digits)


def _note(axes: Axes, at: float, here: pd.DataFrame, digits: int | None) -> None:
    """The interval, number and words of one bar."""
    first = here.iloc[0]  # a run follows its median
    if first["kind"] == "words":
        expected = first["words"] in (NOT_RUN, NO_REFERENCE)
        write_upright(axes, at, first["words"], style.MUTED if expected else style.ALARM)
        return
    if not pd.isna(first["low"]):
        axes.vlines(at, first["low"], first["high"], color=style.INK, linewidth=0.9)
    if digits is not None:
        end = at, here[["value", "high"]].max().max()
        box = {**_BOX, "pad": 0.2, "alpha": 0.6}
        write(axes, f"{first['value']:,.{digits}f}", end, (0, 1.5), bbox=box, **_CENTERED)
    if first["words"]:  # some of the runs have no value
        write_upright(axes, at, first["words"], style.INK)


def write_upright(axes: Axes, at: float, words: str, color: str) -> None:
    """Say on the lower edge at `at` why nothing, or not all, is drawn there."""
    look = {"rotation": 90, "style": "italic", "color": color, **_CENTERED}
    look |= {"bbox": {**_BOX, "pad": 0.3, "alpha": 0.7}, "xycoords": axes.get_xaxis_transform()}
    write(axes, words.replace("; ", "\n"), (at, 0), (0, 2), **look)
