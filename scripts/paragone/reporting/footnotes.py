"""What every figure and table states of its runs: n, interval, data, weights, machine, broken rules."""

from collections.abc import Iterable

import pandas as pd

from paragone.analysis.grouping import Series
from paragone.analysis.run_states import holds_synthetic
from paragone.analysis.statistics import INTERVAL

SYNTHETIC = "SYNTHETIC DATA: shows that the workflow runs, says nothing about the real task"
STEADY = "Steady: steps of the speed window, without what an epoch costs beside them."
SHARED_CORES = "Replicas share the cores of one machine."


def about(runs: pd.DataFrame, *own: str) -> list[str]:
    """The remarks of a table: a banner for synthetic data, the table's `own`, then what all tables state."""
    return [
        *([f"{SYNTHETIC}."] if holds_synthetic(runs) else []),
        *own,
        data(runs),
        *weights(runs),
        *where(runs),
        *violations(runs),
    ]


def where(runs: pd.DataFrame) -> list[str]:
    """The machines, and what disturbed them; of products of matrices, too."""
    return [machine(runs), *isolation(runs)]


def repeats(counts: Iterable[float]) -> str:
    """Which interval is shown, given the number of values of each median."""
    known = sorted({int(count) for count in counts if count})
    if not known:
        return "No value to take a median of."
    if known == [1]:
        return "n = 1 run each: no interval."
    n = str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return f"Median and {INTERVAL}, n = {n} runs (seeds) each."


def data(runs: pd.DataFrame) -> str:
    """Data set, real or synthetic, and edition."""
    known = runs[["dataset", "data_source", "data_edition"]].dropna().drop_duplicates()
    texts = [
        f"{dataset}: SYNTHETIC DATA" if source == "synthetic" else _real(dataset, edition)
        for dataset, source, edition in known.itertuples(index=False)
    ]
    return "; ".join(texts) + "." if texts else "No data were read."


def weights(runs: pd.DataFrame) -> list[str]:
    """The origin of the initial weights of each workload that asks for ImageNet's; none otherwise."""
    asked = runs.loc[runs["planned_initializer"] == "imagenet", ["workload", "initializer"]]
    known = asked.dropna().drop_duplicates().sort_values(["workload", "initializer"])
    return [
        f"{workload}: initial weights are "
        + (
            "ImageNet's, as Keras publishes them."
            if used == "imagenet"
            else "random draws by Keras' rule: ImageNet's were not available."
        )
        for workload, used in known.itertuples(index=False)
    ]


def machine(runs: pd.DataFrame) -> str:
    """Every machine of the runs."""
    names = sorted(set(runs["machine"].dropna()))
    if len(names) > 1:
        return f"{len(names)} machines, kept apart: {' | '.join(names)}."
    return f"Machine {names[0]}."


def isolation(runs: pd.DataFrame) -> list[str]:
    """One warning per kind of disturbance; none when all runs had the machine to themselves."""
    warnings = []
    if flagged := int(runs["busy"].sum()):
        share = runs["other_cpu_share"].max()
        warnings.append(
            f"BUSY MACHINE: others used up to {100 * share:.0f} % of it during "
            f"{flagged} of {len(runs)} runs."
        )
    if "throttled" in runs and (slowed := int(runs["throttled"].sum())):
        warnings.append(f"THROTTLED: heat or power slowed {slowed} of {len(runs)} runs down.")
    return warnings


def violations(runs: pd.DataFrame) -> list[str]:
    """The measurement rules that the runs break, in one sentence; none when all hold.

    Except those that `isolation` reports in more detail.
    """
    rules = runs["violations"].dropna().str.split().explode().value_counts()
    rules = rules.drop(["isolation", "throttling"], errors="ignore")
    found = [f"{rule} ({count} of {len(runs)} runs)" for rule, count in sorted(rules.items())]
    return [f"Rules broken: {', '.join(found)}."] if found else []


def unproven(series: list[Series]) -> list[str]:
    """One sentence that names the series without proven parity; none if all have passed."""
    names = [one.label for one in series if (one.runs["parity"] != "passed").any()]
    return [f"Parity failed or not checked: {', '.join(names)}."] if names else []


def _real(dataset: str, edition: str) -> str:
    name = edition if "edition" in edition else f"{edition} edition"
    return f"{dataset}: real data ({name})"
