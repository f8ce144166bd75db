"""Vertical bars over categories: medians with intervals and runs, words where there is no value."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from paragone.analysis.statistics import summarize
from paragone.reporting.drawing import style
from paragone.reporting.drawing.marks import plain_numbers, write

COLUMNS = ["panel", "series", "x", "kind", "value", "low", "high", "n", "runs", "words"]
INKED = "#4A4A4A"  # published bars
NO_VALUES = pd.Series(dtype="float64")
NO_REFERENCE = "1 replica not run"
WIDTH, GAP = 0.9, 0.6  # of a bar, and between categories; in bars
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


@dataclass(frozen=True)
class Places:
    """Where bars stand, in bars from 0 to `end`: each, by series and x, and the middle of each x."""

    of: dict[tuple[str, str], float]
    middles: dict[str, float]
    end: float


def places(rows: pd.DataFrame, series: list[str]) -> Places:
    """One place per bar, side by side: what was not run takes no room.

    An x has room for at least half as many bars as that with the most, for its name.
    """
    known = set(zip(rows["series"], rows["x"], strict=True))
    shown = {x: [one for one in series if (one, x) in known] for x in dict.fromkeys(rows["x"])}
    least = max(map(len, shown.values()), default=0) / 2
    at, middles, end = {}, {}, 0.0
    for x, names in shown.items():
        room = max(len(names), least)
        middles[x] = end + room / 2
        for place, name in enumerate(names):
            at[name, x] = middles[x] + place - (len(names) - 1) / 2
        end += room + GAP
    return Places(at, middles, end - GAP)


def draw_bars(axes: Axes, rows: pd.DataFrame, colors: dict[str, str], digits: int | None) -> None:
    """Groups of bars, one group per x in the order of `rows`, one bar per series in the order of `colors`.

    `digits`: of the number on each bar; None writes none. The axis starts at zero.
    """
    rows = rows[rows["series"].isin(colors)]
    here = places(rows, list(colors))
    rows = rows.assign(at=[here.of[key] for key in zip(rows["series"], rows["x"], strict=True)])
    for kind, alpha in (("published", 1), ("median", 0.5)):
        bars = rows[rows["kind"] == kind]
        look = {"color": [colors[name] for name in bars["series"]], "alpha": alpha}
        axes.bar(bars["at"], bars["value"], width=WIDTH, linewidth=0, **look)
    ink: dict[str, Any] = {"color": style.INK, "alpha": 0.6, "size": 2.8, "linewidth": 0}
    runs = rows[rows["kind"] == "run"]
    sns.stripplot(runs, x="at", y="value", native_scale=True, jitter=False, ax=axes, **ink)
    axes.set_xticks([*here.middles.values()], [*here.middles])
    axes.set_xlim(-GAP / 2, here.end + GAP / 2)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("")
    axes.grid(axis="y")
    plain_numbers(axes.yaxis)
    highest = rows[["value", "high"]].max().max()
    axes.set_ylim(0, 1 if pd.isna(highest) else highest * (1.04 if digits is None else 1.12))
    for place in here.of.values():
        _note(axes, place, rows[rows["at"] == place], digits)


def _note(axes: Axes, at: float, here: pd.DataFrame, digits: int | None) -> None:
    """The interval, number and words of one bar."""
    first = here.iloc[0]  # a run follows its median
    if first["kind"] == "words":
        expected = first["words"] == NO_REFERENCE
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
