"""What figures, tables, page and paper say of their runs: n, interval, data, machine, broken rules."""

import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from paragone.analysis import grouping
from paragone.analysis.grouping import CONTEST, RUN, Series
from paragone.analysis.statistics import INTERVAL

SYNTHETIC = "SYNTHETIC DATA: shows that the workflow runs, says nothing about the real task"
SPEEDS = {
    CONTEST: "Steady: steps in turns of contests; no evaluation, no checkpoints.",
    RUN: "Speed of its epochs: the training time of a run's epochs after the first.",
}
SHARED_CORES = "Replicas share the cores of one machine."


def of_table(runs: pd.DataFrame, *remarks: str) -> list[str]:
    """Return the remarks of a table, then what all tables say; synthetic data come first."""
    return [
        *([f"{SYNTHETIC}."] if grouping.holds_synthetic(runs) else []),
        *remarks,
        data(runs),
        *weights(runs),
        *where(runs),
        *violations(runs),
    ]


def where(runs: pd.DataFrame) -> list[str]:
    """Return the machines and what disturbed them; `runs` may be of matrix products, too."""
    return [machine(runs), *isolation(runs)]


def repeats(counts: Iterable[float], speeds_of: Iterable[Series] = ()) -> str:
    """Return which interval is shown, given the number of values of each median.

    `speeds_of`: where the values are speeds, the series that have them.
    """
    n, units = spread(counts), {series.unit for series in speeds_of} or {RUN}
    if n == "0":
        return "No value to take a median of."
    if n == "1":
        return f"n = 1 {' or '.join(sorted(units))} each: no interval."
    names = " or ".join("runs (seeds)" if unit == RUN else f"{unit}s" for unit in sorted(units))
    return f"Median and {INTERVAL}, n = {n} {names} each."


def speeds(series: Iterable[Series]) -> str:
    """Return what the speeds of these series are."""
    units = {variant.unit for variant in series}
    return " ".join(text for unit, text in SPEEDS.items() if unit in units)


def spread(counts: Iterable[float]) -> str:
    """Return `5`, or `4 to 5`: the number of values of each median; `0` for none."""
    numbers = sorted({int(count) for count in counts if count})
    return " to ".join(map(str, dict.fromkeys([*numbers[:1], *numbers[-1:]]))) or "0"


def data(runs: pd.DataFrame) -> str:
    """Return the data sets, whether they are real, and their editions."""
    sets = runs[["dataset", "data_source", "data_edition"]].dropna().drop_duplicates()
    texts = [
        f"{dataset}: SYNTHETIC DATA"
        if source == "synthetic"
        else f"{dataset}: real data ({edition}{'' if 'edition' in edition else ' edition'})"
        for dataset, source, edition in sets.itertuples(index=False)
    ]
    return "; ".join(texts) + "." if texts else "No data were read."


def weights(runs: pd.DataFrame) -> list[str]:
    """Return the origin of the initial weights of each workload with ImageNet's in its config."""
    planned = runs.loc[runs["planned_initializer"] == "imagenet", ["workload", "initializer"]]
    origins = planned.dropna().drop_duplicates().sort_values(["workload", "initializer"])
    return [
        f"{workload}: initial weights are ImageNet's, as Keras publishes them."
        if initializer == "imagenet"
        else f"{workload}: initial weights are random draws by Keras' rule: ImageNet's were not available."
        for workload, initializer in origins.itertuples(index=False)
    ]


def machine(runs: pd.DataFrame) -> str:
    """Return every machine of the runs."""
    names = sorted(set(runs["machine"].dropna()))
    if len(names) > 1:
        return f"{len(names)} machines, or numbers of cores, kept apart: {' | '.join(names)}."
    return f"Machine {names[0]}."


def isolation(runs: pd.DataFrame) -> list[str]:
    """Return a warning for each kind of disturbance, and one for variants that were timed alone."""
    warnings, total = [], f"{len(runs)} {_unit(runs)}"
    if flagged := int(runs["busy"].sum()):
        share = runs["other_cpu_share"].max()
        text = f"other processes used up to {100 * share:.0f} % of it during {flagged} of {total}"
        if "busiest" in runs:
            names = "; ".join(sorted({*runs["busiest"].dropna()} - {""}))
            text += f" ({names})" if names else ""
            if runs.loc[runs["busy"].fillna(False), "examples_per_second"].isna().all():
                text += "; these have no speed"
        warnings.append(f"BUSY MACHINE: {text}.")
    if "throttled" in runs and (slowed := int(runs["throttled"].sum())):
        warnings.append(f"THROTTLED: heat or power slowed {slowed} of {total} down.")
    if "together" in runs and (apart := int((runs["together"] == False).sum())):  # noqa: E712
        warnings.append(
            f"ONE AT A TIME: memory was too small for all variants in {apart} of {total}. Disturbances do "
            "not cancel in their ratios."
        )
    return warnings


def _unit(runs: pd.DataFrame) -> str:
    return "windows" if "round" in runs else "runs"


def violations(runs: pd.DataFrame) -> list[str]:
    """Return a sentence on the broken measurement rules.

    It leaves out those on which `isolation` says more, and variables of the shell, which changed nothing.
    """
    rules = runs["violations"].dropna().str.split().explode().value_counts()
    rules = rules.drop(["isolation", "throttling", "environment"], errors="ignore")
    of_all = f"of {len(runs)} {_unit(runs)}"
    counts = [f"{rule} ({count} {of_all})" for rule, count in sorted(rules.items())]
    texts = [f"Rules broken: {', '.join(counts)}."] if counts else []
    if "mixed" in runs and len(values := sorted({*runs["mixed"].dropna()})):
        texts.append(
            f"Mixed runs have {' | '.join(values)}. `--forcerun` with their records, which compliance.csv "
            "names, trains them again."
        )
    return texts


# Of the page and the paper


def facts(runs: pd.DataFrame, preset: str) -> dict[str, str]:
    """Return what is true of all runs, as text by name; `preset` is what the config was overlaid with."""
    states = Counter(runs["status"].replace(grouping.STATUSES))
    rows = {
        "Machine": "; ".join(dict.fromkeys(runs["machine"].dropna())) or "none",
        "Data": data(runs),
        "Config": f"default and {preset}" if preset else "default",
        "Runs": ", ".join(f"{count} {state}" for state, count in states.items()),
    }
    starts = _starts(runs)
    if len(starts):
        rows["Measured"] = (
            f"{starts.min():%Y-%m-%d %H:%M} to {starts.max():%Y-%m-%d %H:%M} UTC, in which the runs took "
            f"{duration(runs['end_to_end_seconds'].sum())}"
        )
    software = runs["software"].dropna().str.split("; ").explode()
    rows["Software"] = ", ".join(sorted(set(software)))
    commits = runs["commit"].dropna().unique()
    rows["Commit"] = ", ".join(commit[:12] for commit in commits) or "not known"
    return rows


def synthetic(runs: pd.DataFrame) -> str:
    """Return the warning about synthetic data, empty if all data are real."""
    return SYNTHETIC if grouping.holds_synthetic(runs) else ""


def _starts(runs: pd.DataFrame) -> pd.Series:
    return pd.to_datetime(runs["started"].dropna(), format="ISO8601", utc=True)


def duration(seconds: float) -> str:
    """Return seconds as hours and minutes, or minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def headline(runs: pd.DataFrame) -> str:
    """Return machine, day, and how many runs or contests there are, in one line."""
    names = dict.fromkeys(runs["machine_name"].dropna())
    machines = "; ".join(re.sub(r"^\S+: | \[\w+\]$", "", name) for name in names) or "no machine"
    days = dict.fromkeys(f"{start.day} {start:%B %Y}" for start in sorted(_starts(runs)))
    if "contest" in runs:
        held = runs.drop_duplicates(["run", "contest"])["contest_seconds"]
        what = f"{len(held)} contest{'' if len(held) == 1 else 's'}, {duration(held.sum())}"
    else:
        failed = int((runs["status"] != "completed").sum())
        what = f"{len(runs)} runs" + (f", {failed} not completed" if failed else "")
    when = " to ".join(dict.fromkeys([*days][:1] + [*days][-1:]))
    return " · ".join(filter(None, [machines, when, what]))
