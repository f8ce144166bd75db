"""Time to the target by batch size: every run, hits and misses."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paragone.analysis import run_states
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
        "words": "; ".join([*run_states.not_completed(cell.runs), *unproven]),
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
    # The time of a run is in (last miss, first hit], so the median of times is between the medians.
    misses = tried["target_last_miss_seconds"].where(hits, tried["run"].map(last))
    median = {
        **facts,
        "kind": "median",
        "last_miss": misses.astype(float)[proven].median(),
        "first_hit": times.median,
        "value": times.median,
        "low": times.low,
        "high": times.high,
        "reached": int(hits.sum()),
        "n": len(tried),
        "runs": " ".join(tried["run"]),
    }
    return [*rows, median]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw success rates and times to target over the batch sizes."""
    names, backends = points["series"], points["backend"]
    styles = style.series_styles(names, backends, inputs.palette, linestyle="none")
    remarks, handles = _remarks(points, inputs.runs), _handles(points, styles)
    frame = style.Frame(style.SINGLE, 2.0, inputs.title, inputs.runs, remarks, handles)
    rates, times = frame.subplots(2, 1, sharex=True, height_ratios=[0.12, 1.75])
    batches = np.log2(sorted(set(points["global_batch"])))
    # The width of a backend at a batch size, in octaves.
    slot = min(0.8 * min(np.diff(batches), default=1) / len(styles), 0.4)
    for place, (name, look) in enumerate(styles.items()):
        for batch, cell in points[points["series"] == name].groupby("global_batch"):
            middle = np.log2(batch) + slot * (place - (len(styles) - 1) / 2)
            median = cell[cell["kind"] == "median"].iloc[0]
            runs = cell[cell["kind"] != "median"].to_dict("records")
            text = f"{median['reached']:.0f}/{median['n']:.0f}" if median["n"] else "-"
            rates.text(middle, 0, text, color=look["color"], ha="center", va="center", size=6)
            if median["words"]:
                marks.write_upright(times, middle, median["words"], style.ALARM)
            ends = [middle - 0.4 * slot, middle + 0.4 * slot]
            if np.isfinite(median["value"]):
                times.hlines(median["value"], *ends, color=look["color"], linewidth=1.4)
                marks.explain(times, [middle], [median["value"]], cell[-1:], "value", "s")
            if np.isfinite(median["low"]):
                # An infinite bound leaves the axes.
                area = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
                times.fill_between(ends, median["low"], min(median["high"], 1e12), **area)
            offsets = 0.6 * slot * (np.arange(len(runs)) - (len(runs) - 1) / 2)
            for at, run in zip(middle + offsets / max(len(runs) - 1, 1), runs, strict=True):
                _draw_time(times, at, run, look)
    rates.set_axis_off()
    rates.set_ylim(-0.5, 0.5)
    units = "axes fraction", "offset points"
    rates.annotate("reached", (0, 0.5), (-4, 0), *units, ha="right", va="center")
    _dress(times, points)
    edge = max(0.55 * slot * len(styles), 0.5)
    times.set_xlim(batches.min() - edge, batches.max() + edge)
    return frame


def _draw_time(axes: Axes, at: float, run: dict[str, Any], look: dict[str, str]) -> None:
    if run["kind"] == "hit":
        axes.vlines(at, run["last_miss"], run["first_hit"], color=look["color"], linewidth=0.8)
        axes.plot(at, run["first_hit"], markeredgewidth=0, **look)
        row = pd.DataFrame([run]).drop(columns=["low", "high", "n"])
        marks.explain(axes, [at], [run["first_hit"]], row, "first_hit", "s")
    elif run["kind"] == "miss" and not pd.isna(run["censored_at"]):
        axes.plot(at, run["censored_at"], markerfacecolor="white", **look)
        arrow = {"arrowstyle": "<-", "color": look["color"], "linewidth": 0.8, "shrinkB": 2}
        place = {"xytext": (0, 11), "textcoords": "offset points"}
        axes.annotate("", (at, run["censored_at"]), arrowprops=arrow, **place)
    elif run["kind"] == "diverged":
        cross = {**look, "marker": "x", "markersize": 4}
        axes.plot(at, 0.04, transform=axes.get_xaxis_transform(), **cross)


def _dress(times: Axes, points: pd.DataFrame) -> None:
    drawn = points[points["kind"].isin(["hit", "miss"])]
    ends = drawn[["first_hit", "censored_at"]].max(axis=1).dropna()
    times.set_ylabel("time to target (s)")
    if marks.scale(times, ends):
        times.set_ylim(ends.min() / 2, ends.max() * 2)
    else:
        times.set_ylim(0, 1 if ends.empty else ends.max() * 1.2)
        marks.plain_numbers(times.yaxis)
    batches = sorted(set(points["global_batch"]))
    times.set_xlabel("global batch size (examples, log scale)")
    times.set_xticks(np.log2(batches), [f"{batch:,}" for batch in batches])
    times.grid(axis="y")


def _handles(points: pd.DataFrame, styles: dict[str, dict[str, str]]) -> list[Artist]:
    kinds = set(points["kind"])
    handles: list[Artist] = [marks.legend_mark(name, **look) for name, look in styles.items()]
    if "hit" in kinds:
        handles.append(marks.legend_line("run: last miss to first hit", linewidth=0.8, marker="o"))
    if "miss" in kinds:
        handles.append(marks.legend_mark("run that missed: later than", markerfacecolor="white"))
    if "diverged" in kinds:
        handles.append(marks.legend_mark("run that diverged (lower edge)", marker="x"))
    handles.append(marks.legend_line("median", linewidth=1.4))
    if points["low"].notna().any():
        handles.append(marks.legend_band())
    return handles


def _remarks(points: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    columns = ["target_metric", "target_value", "target_patience"]
    goals = "; ".join(
        f"test {METRICS[metric].label} {value:g} in "
        f"{'one evaluation' if patience == 1 else f'{patience} evaluations in a row'}"
        for metric, value, patience in runs[columns]
        .dropna()
        .drop_duplicates()
        .itertuples(index=False)
    )
    medians = points[points["kind"] == "median"]
    epochs = runs["planned_epochs"].max()
    return [
        f"Target: {goals}, within {epochs} epoch{'s' if epochs > 1 else ''}. Seconds of "
        "training alone. Top: runs that reached it of those that tried; a miss counts as later than "
        "every hit, and no median is drawn where it is a miss.",
        footnotes.repeats(medians["n"]),
    ]
