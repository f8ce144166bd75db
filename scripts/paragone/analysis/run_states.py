"""States of runs as text: synthetic data, no speed, not completed."""

from collections import Counter
from collections.abc import Mapping

import pandas as pd

from paragone.analysis.grouping import RUN, Series

_STATUSES = {
    "diverged": "diverged",
    "out_of_memory": "out of memory",
    "crashed": "crashed",
    "unavailable": "device not available",
    "unsupported": "not supported there",
    "invalid": "breaks a rule",
}

_NO_SPEED = {
    "failed": "failed parity: no speed compared",
    "not checked": "parity not checked: no speed compared",
}
# Where the backend has failed the gate, which makes a run invalid; `failed` may also be that of first steps.
_FAILED = "failed parity: not compared"


def words_of(status: str) -> str:
    """A status as text."""
    return _STATUSES.get(status, status)


def _ended(status: str, parity: str) -> str | None:
    """Return why a run has no value at all; None if it was completed."""
    return _FAILED if (status, parity) == ("invalid", "failed") else _STATUSES.get(status)


def holds_synthetic(runs: pd.DataFrame) -> bool:
    """Return whether any of the runs used the synthetic stand-in."""
    return bool((runs["data_source"] == "synthetic").any())


def no_speed(runs: pd.DataFrame) -> list[str]:
    """Return why runs of one series have no steady speed; empty if all have one."""
    reasons: Counter[str] = Counter()
    lacking = (runs["status"] != "completed") | runs["steady_examples_per_second"].isna()
    for status, parity in runs.loc[lacking, ["status", "parity"]].itertuples(index=False):
        reasons[_ended(status, parity) or _NO_SPEED.get(parity, "no second epoch")] += 1
    return _counted(reasons, len(runs))


def not_timed(series: Series) -> list[str]:
    """Return why some contest or run of a series has no steady speed; empty if all have one."""
    if series.unit == RUN:
        return no_speed(series.runs)
    counts = series.windows.groupby(["run", "contest"])["examples_per_second"].transform("count")
    contests = series.windows.drop_duplicates(["run", "contest"])
    lacking = contests[counts.loc[contests.index] == 0]
    reasons = [
        _STATUSES.get(status) or _NO_SPEED.get(parity, "no quiet window")
        for status, parity in zip(lacking["status"], lacking["parity"], strict=True)
    ]
    return _counted(Counter(reasons), len(contests), "contests")


def not_completed(runs: pd.DataFrame) -> list[str]:
    """Return the statuses of runs of one series that were not completed; empty if all were."""
    lacking = runs.loc[runs["status"] != "completed", ["status", "parity"]]
    reasons = Counter(_ended(*row) or row.status for row in lacking.itertuples(index=False))
    return _counted(reasons, len(runs))


def _counted(reasons: Mapping[str, int], total: int, units: str = "runs") -> list[str]:
    if total == 1:
        return list(reasons)
    everything = "both" if total == 2 else f"all {total}"
    shares = {count: f"{count} of {total}" for count in range(total)} | {total: everything}
    return [f"{text} ({shares[count]} {units})" for text, count in sorted(reasons.items())]
