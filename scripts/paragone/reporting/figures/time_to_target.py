"""Time to the target by batch size: every run, hits and misses."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paragone.analysis import grouping
from paragone.analysis.grouping import BY_BATCH, Series, series_of
from paragone.analysis.statistics import summarize_times
from paragone.base.errors import UserError
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs
from paragone.tasks import METRICS

TRIED = ("completed", "diverged")  # the others ended before they could reach anything
COLUMNS = ["series", "backend", "global_batch", "kind", "last_miss", "first_hit", "censored_at"]
COLUMNS += ["value", "low", "high", "reached", "n", "runs", "words"]


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per run that tried, and one of kind `median` per batch of a backend.

    The kind of a run is `hit`, `miss` or `diverged`, which is a miss, too. Seconds are of the train clock,
    interval-censored to (last_miss, first_hit]; a median is infinite if too many runs missed. Raises
    `UserError` if no run had a target.
    """
    if inputs.runs["target_value"].isna().all():
        raise UserError(
            "no run of this experiment has a target: set `target` in its block of the config"
        )
    ends = inputs.epochs.groupby("run")["elapsed_train_seconds"].max()
    rows = []
    for sweep in inputs.sweeps(*BY_BATCH):
        for cell in series_of(sweep.runs, inputs.labels):
            rows += _of_batch(sweep.label, cell, ends)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _of_batch(label: str, cell: Series, last: pd.Series) -> list[dict]:
    ended = cell.runs[cell.runs["status"].isin(TRIED)]
    unproven = ["parity not passed: no time"] if (ended["parity"] != "passed").any() else []
    facts = {
        "series": label,
        "backend": cell.backend,
        "global_batch": cell.global_batch,
        "words": "; ".join([*grouping.not_completed(cell.runs), *unproven]),
    }
    tried = ended[ended["target_value"].notna()]
    hits = tried["target_reached"].fillna(False).astype(bool)
    rows = [
        {
            **facts,
            "kind": "hit" if hit else "diverged" if run["status"] == "diverged" else "miss",
            "last_miss": run["target_last_miss_seconds"],
            "first_hit": run["target_first_hit_seconds"],
            "censored_at": np.nan if hit else last.get(run["run"], np.nan),
            "runs": run["run"],
        }
        for (_, run), hit in zip(tried.iterrows(), hits, strict=True)
    ]
    proven = tried["parity"] == "passed"
    times = summarize_times(tried.loc[proven, "target_first_hit_seconds"], hits[proven])
    median = {
        **facts,
        **vars(times),
        "kind": "median",
        "value": times.median,
        "reached": int(hits.sum()),
        "n": len(tried),
        "runs": " ".join(tried["run"]),
    }
    return [*rows, median]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw the times of all runs, and their median, of each backend at each batch size."""
    styles = style.series_styles(
        points["series"], points["backend"], inputs.palette, linestyle="none"
    )
    of_kind = {
        "hit": marks.legend_line("run: last miss to first hit", linewidth=0.8, marker="o"),
        "miss": marks.legend_mark("run that missed: later than", markerfacecolor="white"),
        "diverged": marks.legend_mark("run that diverged (lower edge)", marker="x"),
        "median": marks.legend_line("median", linewidth=1.4),
    }
    handles = [marks.legend_mark(name, **look) for name, look in styles.items()]
    handles += [mark for kind, mark in of_kind.items() if kind in set(points["kind"])]
    if points["low"].notna().any():
        handles.append(marks.legend_band())
    remarks = _remarks(points, inputs.runs)
    frame = style.Frame(style.SINGLE, 2.0, inputs.title, inputs.runs, remarks, handles)
    axes = frame.subplots()
    batches = sorted(set(points["global_batch"]))
    apart = 0.8 / len(styles)
    for number, (name, look) in enumerate(styles.items()):
        for batch, cell in points[points["series"] == name].groupby("global_batch"):
            middle = batches.index(batch) + marks.aside(number, len(styles), apart)
            _draw_cell(axes, middle, 0.4 * apart, cell, look)
    marks.name_categories(axes, [f"{batch:,}" for batch in batches])
    axes.set_xlabel("global batch size (examples)")
    axes.set_ylabel("time to target (s)")
    ends = points.loc[points["kind"] != "median", ["first_hit", "censored_at"]].max(axis=1).dropna()
    if marks.scale(axes, ends):
        axes.set_ylim(ends.min() / 2, ends.max() * 2)
    else:
        axes.set_ylim(0, 1 if ends.empty else ends.max() * 1.2)
        marks.plain_numbers(axes.yaxis)
    return frame


def _draw_cell(
    axes: Axes, middle: float, half: float, cell: pd.DataFrame, look: dict[str, Any]
) -> None:
    color = look["color"]
    median = cell[cell["kind"] == "median"].iloc[0]
    reached = f"{median['reached']:.0f}/{median['n']:.0f}" if median["n"] else "-"
    top = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "bottom", "size": 6}
    axes.annotate(reached, (middle, 1), color=color, **top)
    if median["words"]:
        marks.write_upright(axes, middle, median["words"], style.ALARM)
    ends = [middle - half, middle + half]
    if np.isfinite(median["value"]):
        axes.hlines(median["value"], *ends, color=color, linewidth=1.4)
        marks.explain(axes, [middle], [median["value"]], cell[-1:], "value", "s")
    if np.isfinite(median["low"]):
        # An infinite bound leaves the axes.
        area = {"color": color, "alpha": 0.2, "linewidth": 0}
        axes.fill_between(ends, median["low"], min(median["high"], 1e12), **area)
    runs = cell[cell["kind"] != "median"].to_dict("records")
    for at, run in zip(np.linspace(ends[0], ends[1], len(runs) + 2)[1:-1], runs, strict=True):
        if run["kind"] == "hit":
            axes.vlines(at, run["last_miss"], run["first_hit"], color=color, linewidth=0.8)
            axes.plot(at, run["first_hit"], markeredgewidth=0, **look)
            row = pd.DataFrame([run]).drop(columns=["low", "high", "n"])
            marks.explain(axes, [at], [run["first_hit"]], row, "first_hit", "s")
        elif run["kind"] == "miss" and not pd.isna(run["censored_at"]):
            axes.plot(at, run["censored_at"], markerfacecolor="white", **look)
            axes.plot(at, run["censored_at"], marker=6, markersize=5, color=color)
        elif run["kind"] == "diverged":
            cross = {**look, "marker": "x", "markersize": 4}
            axes.plot(at, 0.04, transform=axes.get_xaxis_transform(), **cross)


def _remarks(points: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    targets = runs[["target_metric", "target_value", "target_patience"]].dropna()
    goals = "; ".join(
        f"test {METRICS[metric].label} {value:g} in "
        f"{'one evaluation' if patience == 1 else f'{patience} evaluations in a row'}"
        for metric, value, patience in targets.drop_duplicates().itertuples(index=False)
    )
    medians = points[points["kind"] == "median"]
    epochs = runs["planned_epochs"].max()
    return [
        f"Target: {goals}, within {epochs} epoch{'s' if epochs > 1 else ''}. Seconds of "
        "training alone. Top: runs that reached it of those that tried; a miss counts as later than "
        "every hit, and no median is drawn where it is a miss.",
        footnotes.repeats(medians["n"]),
    ]
