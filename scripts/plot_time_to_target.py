"""Draw time to the target accuracy by batch size: every run, hits and misses, and final accuracy."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator, StrMethodFormatter

from paragone.analysis import run_states, tidy
from paragone.analysis.grouping import BY_BATCH, Series, series_of, sweeps_of
from paragone.analysis.statistics import summarize, summarize_times
from paragone.base.errors import UserError, entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.bars import write_upright
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

TRIED = ("completed", "diverged")  # the others ended before they could reach anything
COLUMNS = ["series", "backend", "batch", "kind", "last_miss", "first_hit", "censored_at"]
COLUMNS += ["value", "low", "high", "reached", "n", "final_accuracy", "runs", "words"]


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    options = figure_parser(__doc__, epochs=True).parse_args(arguments)
    runs, epochs = tidy.read(options.runs), tidy.read(options.epochs)
    shown = points(runs, epochs, pairs(options.labels))
    style.save(draw(shown, runs, pairs(options.palette), options.title), options.output)
    tidy.write(shown, options.sidecar)


def points(runs: pd.DataFrame, epochs: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """What is drawn: a row of kind `hit`, `miss` or `diverged` (a miss too) a run that tried, and
    one of kind `median` a batch of a backend. Seconds are of the train clock; infinite: too many
    runs missed. A target is reached in (last_miss, first_hit], no evaluation lies between; the same
    holds of the medians. Raises UserError when no run had a target.
    """
    if runs["target_accuracy"].isna().all():
        raise UserError(
            "no run of this experiment has a target: set `target` in its block of the config"
        )
    ends = epochs.groupby("run")["elapsed_train_seconds"].max()
    finals = epochs.sort_values("epoch").groupby("run")["test_accuracy"].last()
    found = []
    for sweep in sweeps_of(runs, labels, *BY_BATCH):
        for one in series_of(sweep.runs, labels):
            found += _of_batch(sweep.label, one, ends, finals)
    return pd.DataFrame(found).reindex(columns=COLUMNS)


def _of_batch(label: str, one: Series, last: pd.Series, finals: pd.Series) -> list[dict]:
    about = {
        "series": label,
        "backend": one.backend,
        "batch": int(one.runs["global_batch"].iloc[0]),
        "words": "; ".join(_words(one.runs)),
    }
    tried = one.runs[one.runs["status"].isin(TRIED) & one.runs["target_accuracy"].notna()]
    hits = tried["target_reached"].fillna(False).astype(bool)
    rows = [
        {
            **about,
            "kind": "hit" if hit else "diverged" if run["status"] == "diverged" else "miss",
            "last_miss": run["target_last_miss_seconds"],
            "first_hit": run["target_first_hit_seconds"],
            "censored_at": np.nan if hit else last.get(run["run"], np.nan),
            "final_accuracy": finals.get(run["run"], np.nan),
            "runs": run["run"],
        }
        for (_, run), hit in zip(tried.iterrows(), hits, strict=True)
    ]
    proven = tried["parity"] == "passed"
    times = summarize_times(tried.loc[proven, "target_first_hit_seconds"], hits[proven])
    # A run's time lies in (last miss, first hit], so the median of the times lies between the medians.
    misses = [
        row["last_miss"] if hit else row["censored_at"] for row, hit in zip(rows, hits, strict=True)
    ]
    ends = [row["final_accuracy"] for row in rows if row["kind"] != "diverged"]
    accuracy = summarize(pd.Series(ends, dtype="float64"))
    median = {
        **about,
        "kind": "median",
        "last_miss": pd.Series(misses, index=tried.index, dtype="float64")[proven].median(),
        "first_hit": times.median,
        "value": times.median,
        "low": times.low,
        "high": times.high,
        "reached": int(hits.sum()),
        "n": len(tried),
        "final_accuracy": accuracy.median,
        "runs": " ".join(tried["run"]),
    }
    return [*rows, median]


def _words(runs: pd.DataFrame) -> list[str]:
    """What became of the runs that were not completed or have no proven speed."""
    unproven = runs[runs["status"].isin(TRIED) & (runs["parity"] != "passed")]
    return run_states.not_completed(runs) + (
        ["parity not passed: no time"] if len(unproven) else []
    )


def draw(shown: pd.DataFrame, runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure: success rates, times to target and final accuracies over the batch sizes."""
    names = dict(shown[["series", "backend"]].drop_duplicates().itertuples(index=False))
    colors = {name: style.color(palette, backend) for name, backend in names.items()}
    markers = _markers(names, palette)
    frame = Frame(
        style.DOUBLE,
        2.9,
        title,
        runs,
        _remarks(shown, runs),
        _handles(shown, colors, markers),
    )
    rates, times, finals = frame.figure.subplots(
        3, 1, sharex=True, height_ratios=[0.12, 1.75, 0.85]
    )
    steps = np.diff(np.log2(sorted(set(shown["batch"]))))
    # Octaves that a backend has beside a batch size.
    slot = min(0.8 * min(steps, default=1) / len(names), 0.4)
    for place, name in enumerate(names):
        here = shown[shown["series"] == name].sort_values("batch")
        look = {"color": colors[name], "marker": markers[name]}
        for batch, cell in here.groupby("batch"):
            middle = np.log2(batch) + slot * (place - (len(names) - 1) / 2)
            median = cell[cell["kind"] == "median"].iloc[0]
            text = f"{median['reached']:.0f}/{median['n']:.0f}" if median["n"] else "-"
            rates.text(middle, 0, text, color=colors[name], ha="center", va="center", size=6)
            if median["words"]:
                write_upright(times, middle, median["words"], style.ALARM)
            _draw_median(times, middle, slot, median[["value", "low", "high"]], look["color"])
            _draw_times(times, middle, slot, cell, look)
            _draw_accuracies(finals, middle, slot, cell, look)
    _finish(rates, times, finals, shown, runs)
    batches = np.log2(shown["batch"].astype(float))
    edge = max(0.55 * slot * len(names), 0.5)
    finals.set_xlim(batches.min() - edge, batches.max() + edge)
    return frame.figure


def _markers(names: dict[str, str], palette: dict[str, str]) -> dict[str, str]:
    """By series: the backend's marker, and others for its further workloads and replicas."""
    backends = list(names.values())
    markers = {}
    for at, (name, backend) in enumerate(names.items()):
        number = backends[:at].count(backend)
        own = style.MARKERS.index(style.marker(palette, backend))
        markers[name] = style.MARKERS[(own + 3 * number) % len(style.MARKERS)]
    return markers


def _draw_median(axes: Axes, middle: float, slot: float, median: pd.Series, color: str) -> None:
    value, low, high = median.astype(float)
    left, right = middle - 0.4 * slot, middle + 0.4 * slot
    if np.isfinite(low):
        # An infinite bound leaves the axes.
        axes.fill_between([left, right], low, min(high, 1e12), color=color, alpha=0.2, linewidth=0)
    if np.isfinite(value):
        axes.hlines(value, left, right, color=color, linewidth=1.4)


def _draw_times(axes: Axes, middle: float, slot: float, cell: pd.DataFrame, look: dict) -> None:
    runs = cell[cell["kind"] != "median"]
    for at, run in zip(_beside(middle, slot, len(runs)), runs.to_dict("records"), strict=True):
        if run["kind"] == "hit":
            axes.vlines(at, run["last_miss"], run["first_hit"], color=look["color"], linewidth=0.8)
            axes.plot(at, run["first_hit"], markeredgewidth=0, **look)
        elif run["kind"] == "miss" and not pd.isna(run["censored_at"]):
            axes.plot(at, run["censored_at"], markerfacecolor="white", **look)
            arrow = {"arrowstyle": "<-", "color": look["color"], "linewidth": 0.8, "shrinkB": 2}
            axes.annotate(
                "",
                (at, run["censored_at"]),
                (0, 11),
                textcoords="offset points",
                arrowprops=arrow,
            )


def _draw_accuracies(
    axes: Axes, middle: float, slot: float, cell: pd.DataFrame, look: dict
) -> None:
    runs = cell[cell["kind"] != "median"]
    median = cell.loc[cell["kind"] == "median", ["final_accuracy"]].assign(low=np.nan, high=np.nan)
    _draw_median(axes, middle, slot, median.iloc[0], look["color"])
    for at, run in zip(_beside(middle, slot, len(runs)), runs.to_dict("records"), strict=True):
        if run["kind"] == "diverged":
            # Its accuracy is that of chance: on the lower edge, not to squeeze the others.
            cross = {**look, "marker": "x", "markersize": 4}
            axes.plot(at, 0.04, transform=axes.get_xaxis_transform(), **cross)
        else:
            face = look["color"] if run["kind"] == "hit" else "white"
            edge = {"markeredgewidth": 0.8, "markersize": 2.8}
            axes.plot(at, run["final_accuracy"], markerfacecolor=face, **{**look, **edge})


def _beside(middle: float, slot: float, count: int) -> np.ndarray:
    return middle + 0.6 * slot * (np.arange(count) - (count - 1) / 2) / max(count - 1, 1)


def _finish(
    rates: Axes, times: Axes, finals: Axes, shown: pd.DataFrame, runs: pd.DataFrame
) -> None:
    batches = sorted(set(shown["batch"]))
    rates.set_axis_off()
    rates.set_ylim(-0.5, 0.5)
    rates.annotate(
        "reached", (0, 0.5), (-4, 0), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="center",
    )  # fmt: skip
    drawn = shown[shown["kind"].isin(["hit", "miss"])]
    ends = drawn[["first_hit", "censored_at"]].max(axis=1).dropna()
    times.set_ylabel("time to target (s)")
    if len(ends) and ends.max() / ends.min() > 8:
        times.set_yscale("log")
        times.set_ylim(ends.min() / 2, ends.max() * 2)
        times.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        times.yaxis.set_minor_locator(NullLocator())
    else:
        times.set_ylim(0, 1 if ends.empty else ends.max() * 1.2)
    times.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    finals.set_ylabel("final accuracy")
    finals.set_xlabel("global batch size (examples, log scale)")
    finals.xaxis.set_major_locator(FixedLocator(np.log2(batches)))
    finals.xaxis.set_minor_locator(NullLocator())
    finals.set_xticklabels([f"{batch:,}" for batch in batches])
    for target in sorted(set(runs["target_accuracy"].dropna())):
        finals.axhline(target, color=style.MUTED, linewidth=0.8, linestyle=":")
        note = finals.annotate(
            f"target {target:g}", (1, target), (-2, 2), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", size=6, color=style.MUTED,
        )  # fmt: skip
        note.set_in_layout(False)
    for axes in (times, finals):
        axes.grid(axis="y")


def _handles(shown: pd.DataFrame, colors: dict, markers: dict) -> list:
    handles: list = [
        Line2D([], [], color=color, marker=markers[name], linestyle="none", label=name)
        for name, color in colors.items()
    ]
    grey = {"color": style.MUTED, "marker": "o"}
    if (shown["kind"] == "hit").any():
        handles.append(Line2D([], [], linewidth=0.8, label="run: last miss to first hit", **grey))
    if (shown["kind"] == "miss").any():
        open_ = {"markerfacecolor": "white", "linestyle": "none", **grey}
        handles.append(Line2D([], [], label="run that missed: later than", **open_))
    if (shown["kind"] == "diverged").any():
        cross = {"color": style.MUTED, "marker": "x", "linestyle": "none"}
        handles.append(Line2D([], [], label="run that diverged (lower edge)", **cross))
    handles.append(Line2D([], [], color=style.MUTED, linewidth=1.4, label="median"))
    if shown["low"].notna().any():
        handles.append(Patch(color=style.MUTED, alpha=0.25, linewidth=0, label="95 % interval"))
    return handles


def _remarks(shown: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    target = runs[["target_accuracy", "target_patience"]].dropna().drop_duplicates()
    goals = "; ".join(
        f"{accuracy:g} in {patience} evaluations in a row"
        for accuracy, patience in target.itertuples(index=False)
    )
    medians = shown[shown["kind"] == "median"]
    found = [
        f"Target: test accuracy {goals}, within {runs['planned_epochs'].max()} epochs. Seconds of "
        "training alone. Top: runs that reached it of "
        "those that tried; a miss counts as later than every hit, and no median is drawn where "
        "it is a miss."
    ]
    return [*found, footnotes.repeats([int(n) for n in medians["n"]])]


if __name__ == "__main__":
    main()
