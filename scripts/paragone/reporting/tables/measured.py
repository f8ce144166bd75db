"""Tables of measured runs: variants compared in pairs, speed-up by replicas, and the spread over seeds."""

import pandas as pd

from paragone.analysis import pairwise
from paragone.analysis.grouping import shares_cores
from paragone.analysis.pairwise import CRITERIA, margin_words
from paragone.analysis.prediction import OUTCOMES, spread_of
from paragone.analysis.scaling import SHARED, scaling_kind, scaling_table
from paragone.reporting import footnotes, sentences
from paragone.reporting.inputs import Inputs
from paragone.reporting.sentences import Row
from paragone.reporting.tables import TextTable

PAIRED = (
    "Speeds of variants that are timed in turn are compared by contest: the effect of a contest is the "
    "median log ratio of its rounds. All other values are compared by pairs of runs with the same seed, by "
    "log ratio, accuracies by difference. The table has the mean effect, its 95 % interval and its p value "
    "by Student's t. Two variants are equal by two one-sided tests. Interval and p are adjusted by Holm's "
    "method over the pairs of a metric, of which fewer than four count as four, because contests end once "
    "all are decided. A verdict has p <= 0.05. The effect is by how much the first variant is better: a "
    "ratio below 1, or a difference below 0, speaks for the second."
)
MARGINS = f"Margins: {', '.join(f'{metric.name} {margin_words(metric)}' for metric in CRITERIA)}."
NOTHING = (
    "No two variants trained the same workload at the same global batch with the same tuning. "
    "There is nothing to compare."
)
EXPLORATORY = "All rows are exploratory: the primary family is of another experiment."
SPEED_UP = (
    "Speed-up: examples/s over those of one replica, by contest or seed. "
    "Efficiency: speed-up over replicas."
)
_PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]


def differences(inputs: Inputs) -> TextTable:
    """Compare the variants of an experiment with each other: one row per metric and pair."""
    runs, windows, primary = inputs.runs, inputs.rounds, inputs.settings["primary"]
    rows = sentences.with_verdicts(pairwise.differences(runs, inputs.labels, windows))
    rows["family"] = "exploratory"
    notes = [NOTHING]
    if len(rows):
        notes = [PAIRED, footnotes.speeds(inputs.series), MARGINS, EXPLORATORY]
        if primary["experiment"] in set(runs["experiment"]):
            rows.loc[rows["metric"] == primary["metric"], "family"] = "primary"
            notes[-1] = (
                f"The rows of {primary['metric']} are the primary family. The others are exploratory."
            )
    if windows is not None:
        notes += footnotes.isolation(windows) + footnotes.violations(windows)
    cells = rows.assign(
        batch=sentences.batches(rows),
        effect=[*map(_effect, rows.to_dict("records"))],
        p=["" if pd.isna(p) else f"{p:.3f}" for p in rows["p_adjusted"]],
    )
    machine = ["machine"] if len(set(rows["machine"])) > 1 else []
    return TextTable(
        rows,
        f"{inputs.title}: variants compared",
        footnotes.of_table(runs, *notes),
        cells[[*machine, *_PRINTED]],
        rows["relation"],
        rows["runs"],
    )


def _effect(row: Row) -> str:
    """Return by how much the first is better, with its interval if it has one."""
    if not row["n"]:
        return "-"
    if not row["ratio"]:
        return sentences.with_interval("{:+.4f}", row["effect"], row["low"], row["high"])
    # A ratio of 0 is the log of no bound.
    return sentences.with_interval("{:.3f} x", row["effect"], row["low"] or None, row["high"])


def scaling(inputs: Inputs) -> TextTable:
    """Show step time, speed-up and efficiency: one row per backend and number of replicas."""
    runs = inputs.runs
    rows = scaling_table(runs, inputs.labels, inputs.rounds)
    notes = [SPEED_UP, footnotes.speeds(inputs.series), *([SHARED] if shares_cores(runs) else [])]
    repeats = footnotes.repeats(rows["n"], inputs.series)
    cells = pd.DataFrame(
        {
            "backend": rows["series"],
            "replicas": rows["replicas"].astype(str),
            "batch": sentences.batches(rows),
            "per replica": rows["per_replica_batch"].map("{:,}".format),
            "step (ms)": _intervals(rows, "step_seconds", "{:,.1f}", 1e3),
            "speed-up": _intervals(rows, "speed_up", "{:,.2f}"),
            "efficiency": _intervals(rows, "efficiency", "{:,.2f}"),
            "ideal": rows["ideal"].astype(str),
            "devices": rows["devices"],
        }
    )
    title, remarks = (
        f"{inputs.title} ({scaling_kind(runs)} scaling)",
        footnotes.of_table(runs, *notes),
    )
    return TextTable(rows, title, [*remarks, repeats], cells, runs=rows["runs"])


def _intervals(rows: pd.DataFrame, column: str, form: str, factor: float = 1) -> list[str]:
    """Return the values of a column times a factor, with their intervals, or what a row lacks."""
    texts = []
    for row in rows.to_dict("records"):
        value, low, high = (factor * row[f"{column}{end}"] for end in ("", "_low", "_high"))
        if pd.isna(value):
            texts.append(row["words"] or "-")
        else:
            ends = (None, None) if low == high else (low, high)
            texts.append(sentences.with_interval(form, value, *ends))
    return texts


def spread(inputs: Inputs) -> TextTable:
    """Show outcomes of runs that differ by seed: mean and standard deviation over seeds.

    The CSV file has one row per run and epoch, as spread.csv of a paper.
    """
    rows = spread_of(inputs.runs, inputs.epochs)
    groups = rows.groupby(["workload", "epoch"])
    cells = groups["seed"].count().rename("n").to_frame()
    for name in [name for name in OUTCOMES if name in rows]:
        mean, deviation = groups[name].mean(), groups[name].std()
        cells[name] = mean.map("{:.4f}".format) + " ± " + deviation.map("{:.4f}".format)
    remarks = footnotes.of_table(inputs.runs, "Mean ± standard deviation over n seeds.")
    return TextTable(rows, inputs.title, remarks, cells.reset_index().astype(str))
