"""How many examples of a training step a device has memory for, by compilation."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.ahead_of_time.table import STATUS
from paragone.records.compilations import LargestBatch
from paragone.reporting.compilations import named
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import write
from paragone.reporting.drawing.rows import name_rows, write_words
from paragone.reporting.inputs import Inputs

ROW = 0.2  # inches per target
HOW = (
    "Compiled by the target's own compiler, NOT RUN. Two compilations give memory by batch, up to four more "
    "check where it ends; open: the smallest batch that was found not to fit. Two numbers: in between "
    "nothing was compiled. The compiler's plan of the memory of one device, without what a framework takes "
    "beside it."
)
OPEN = 1.1  # from the largest batch that fits to the smallest that does not: above, both are named


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per search: the largest batch of a device that fits, the smallest that does not, or why."""
    return pd.DataFrame([_row(one, inputs) for one in inputs.largest_batches])


def _row(one: LargestBatch, inputs: Inputs) -> dict[str, object]:
    last = one.tries[-1]
    words = "" if one.fits else STATUS[last.status]
    return {
        "workload": named(one.workload, one.model.get("width")),
        "backend": one.backend,
        "series": inputs.labels.get(one.backend, one.backend),
        "target": one.target.name,
        "target_label": one.target.label,
        "memory_bytes": one.target.memory,
        "fits": one.fits,
        "exceeds": one.exceeds,
        "tries": len(one.tries),
        "words": words,
    }


def _range(fits: float, exceeds: float) -> str:
    known = pd.isna(exceeds) or exceeds <= OPEN * fits
    return f"{fits:,.0f}" if known else f"{fits:,.0f} to {exceeds:,.0f}"


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: a panel per workload, a row per target."""
    workloads = list(dict.fromkeys(points["workload"]))
    targets = dict(points[["target", "target_label"]].drop_duplicates().itertuples(index=False))
    backends = dict(points[["backend", "series"]].drop_duplicates().itertuples(index=False))
    handles = [
        *(
            legend.mark(label, color=style.color(inputs.palette, name))
            for name, label in backends.items()
        ),
        legend.mark("does not fit", markerfacecolor="white"),
    ]
    height = ROW * len(targets) + 0.6
    frame = Frame(style.DOUBLE, height, inputs.title, None, [HOW], handles)
    grid = frame.figure.subplots(1, len(workloads), sharey=True, squeeze=False)
    for axes, workload in zip(grid.flat, workloads, strict=True):
        axes.set_xscale("log")
        axes.set_title(workload, loc="left")
        axes.grid(axis="x")
        here = points[points["workload"] == workload]
        for row, target in enumerate(targets):
            for one in here[here["target"] == target].to_dict("records"):
                color = style.color(inputs.palette, one["backend"])
                if pd.isna(one["fits"]):
                    write_words(axes, row, one["words"])
                    continue
                axes.plot(one["fits"], row, "o", color=color)
                write(
                    axes,
                    _range(one["fits"], one["exceeds"]),
                    (one["fits"], row),
                    (-5, 0),
                    ha="right",
                    va="center",
                )
                if not pd.isna(one["exceeds"]):
                    look = {"markerfacecolor": "white", "markeredgecolor": color}
                    axes.plot(one["exceeds"], row, "o", **look)
        known = here["fits"].dropna()
        if len(known):
            axes.set_xlim(known.min() / 30, here[["fits", "exceeds"]].max(axis=None) * 4)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("examples per device and step")
    name_rows(grid[0, 0], list(targets.values()))
    return frame.figure
