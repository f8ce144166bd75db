"""Rounds of contests over time: the speed of every variant in each window, one line per variant."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from paragone.analysis.grouping import by_machine, series_of
from paragone.analysis.run_states import words_of
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import explain, legend_series

HEIGHT = 1.5  # inches of a panel
REMARK = (
    "Variants of one question, all alive, one of them training at a time, in random order in each round; "
    "upright lines: a new contest, with fresh processes."
)
COLUMNS = ["run", "contest", "round", "seconds", "examples_per_second", "sleeping_share"]
COLUMNS += ["status"]


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per window: `panel`, `series`, its `turn` over all contests of the panel, and its speed."""
    machines = set(inputs.rounds["machine"].dropna())
    parts = []
    for machine, runs in by_machine(inputs.rounds):
        for series in series_of(runs, inputs.labels):
            panel = series.work + (f", {machine}" if len(machines) > 1 else "")
            place = {"panel": panel, "series": series.label, "backend": series.backend}
            parts.append(series.runs[COLUMNS].assign(words=_lacks(series.runs), **place))
    table = pd.concat(parts, ignore_index=True)
    order = table[["panel", "contest", "round"]].drop_duplicates().dropna()
    order = order.sort_values(["panel", "contest", "round"])
    order["turn"] = order.groupby("panel").cumcount() + 1
    return table.merge(order, how="left", on=["panel", "contest", "round"])


def _lacks(windows: pd.DataFrame) -> str:
    """Why a variant has no speed in some contest, in words; empty if it has one in all."""
    lacking = windows[windows["examples_per_second"].isna()]
    wording = dict.fromkeys(
        words_of(status) if status != "completed" else f"parity {parity}"
        for status, parity in zip(lacking["status"], lacking["parity"], strict=True)
    )
    return ", ".join(wording)


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw one panel per question and machine."""
    panels = [*dict.fromkeys(points["panel"])]
    styles = style.series_styles(points["series"], points["backend"], inputs.palette)
    n = footnotes.spread(points.groupby("panel")["contest"].nunique())
    handles = legend_series(styles)
    remarks = [
        REMARK,
        f"n = {n} contest{'' if n == '1' else 's'}.",
    ]
    height = HEIGHT * len(panels)
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.rounds, remarks, handles)
    grid = frame.subplots(len(panels), 1, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=True):
        part = points[points["panel"] == panel]
        for name, windows in part.dropna(subset="examples_per_second").groupby(
            "series", sort=False
        ):
            look = {"estimator": None, "markeredgewidth": 0, "ax": axes, **styles[name]}
            style.sns.lineplot(windows, x="turn", y="examples_per_second", units="contest", **look)
            speeds = windows["examples_per_second"]
            explain(
                axes,
                windows["turn"],
                speeds,
                windows.rename(columns={"run": "runs"}),
                "examples_per_second",
                "examples/s",
            )
        for begin in part.groupby("contest")["turn"].min().dropna().sort_values()[1:]:
            axes.axvline(begin - 0.5, color=style.MUTED, linewidth=0.5, zorder=1)
        lacking = part[part["words"] != ""].drop_duplicates("series")
        texts = [f"{row.series}: {row.words}" for row in lacking.itertuples()]
        axes.text(0.02, 0.04, "\n".join(texts), transform=axes.transAxes, color=style.MUTED)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0.5, max(part["turn"].max(), 1) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("examples/s")
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        if len(panels) > 1:
            axes.set_title(panel, loc="left")
    grid.flat[-1].set_xlabel("round")
    return frame
