"""Vertical bars over categories: medians with intervals and runs, words where there is no value."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from paragone.analysis.statistics import Summary, summarize
from paragone.reporting.drawing import style

COLUMNS = ["panel", "series", "x", "kind", "value", "low", "high", "n", "runs", "words"]
INKED = "#4A4A4A"  # published bars
NOT_RUN = "not run"
NO_REFERENCE = "1 replica not run"


def bar_rows(panel: str, series: str, x: str, values: pd.Series, words: list[str]) -> list[dict]:
    """What stands over one category: the median, each run (`values` by run name), and `words`."""
    about = {"panel": panel, "series": series, "x": x, "words": "; ".join(words)}
    known = values.dropna()
    summary = summarize(known)
    if not summary.n:
        return [{**about, "kind": "words", "n": 0}]
    runs = [{**about, "kind": "run", "value": v, "runs": run} for run, v in known.items()]
    return [_median(about, summary, known), *(runs if summary.n > 1 else [])]


def published_row(panel: str, x: str, value: float, printed: str) -> dict:
    """One published bar."""
    return {
        "panel": panel,
        "series": "published",
        "x": x,
        "kind": "published",
        "value": value,
        "runs": printed,
        "words": "",
    }


def draw_bars(
    axes: Axes, rows: pd.DataFrame, xs: list[str], colors: dict[str, str], digits: int | None
) -> None:
    """Groups of bars at each of `xs`, one a series in the order of `colors`.

    `digits`: of the number on each bar; None writes none. The axis starts at zero.
    """
    width = 0.82 / max(len(colors), 1)
    axes.set_xticks(range(len(xs)), xs)
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    highest = rows[["value", "high"]].max().max()
    axes.set_ylim(0, 1 if pd.isna(highest) else highest * (1.04 if digits is None else 1.12))
    for place, (series, color) in enumerate(colors.items()):
        offset = (place - (len(colors) - 1) / 2) * width
        for at, x in enumerate(xs):
            here = rows[(rows["series"] == series) & (rows["x"] == x)]
            _draw_one(axes, at + offset, width, here, color, digits)


def _draw_one(
    axes: Axes, at: float, width: float, here: pd.DataFrame, color: str, digits: int | None
) -> None:
    for _, row in here.iterrows():
        match row["kind"]:
            case "published":
                axes.bar(at, row["value"], width * 0.9, color=color, linewidth=0)
            case "median":
                axes.bar(at, row["value"], width * 0.9, color=color, alpha=0.5, linewidth=0)
                if not pd.isna(row["low"]):
                    axes.vlines(at, row["low"], row["high"], color=style.INK, linewidth=0.9)
            case "run":
                axes.plot(at, row["value"], "o", markersize=1.8, color=style.INK, alpha=0.6)
            case "words":
                color = style.MUTED if row["words"] in (NOT_RUN, NO_REFERENCE) else style.ALARM
                write_upright(axes, at, row["words"], color)
    top = here[["value", "high"]].max().max()
    main = here[here["kind"].isin(["published", "median"])]
    if digits is not None and len(main):
        text = f"{main['value'].iloc[0]:,.{digits}f}"
        axes.annotate(
            text,
            (at, top),
            (0, 1.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            size=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2, "alpha": 0.6},
        )
    if len(main) and main["words"].iloc[0]:  # some of the runs have no value
        write_upright(axes, at, main["words"].iloc[0], style.INK)


def write_upright(axes: Axes, at: float, words: str, color: str) -> None:
    """Say on the lower edge at `at` why nothing, or not all, is drawn there."""
    text = axes.annotate(
        words.replace("; ", "\n"),
        (at, 0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        rotation=90,
        ha="center",
        va="bottom",
        size=6,
        style="italic",
        color=color,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.7},
    )
    text.set_in_layout(False)


def _median(about: dict, summary: Summary, values: pd.Series) -> dict:
    return {
        **about,
        "kind": "median",
        "value": summary.median,
        "low": summary.low,
        "high": summary.high,
        "n": summary.n,
        "runs": " ".join(sorted(values.index)),
    }
