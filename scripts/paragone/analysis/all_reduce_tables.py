"""From results of all-reduces to one tidy row per timed run; from those to medians."""

from typing import Any

import pandas as pd

from paragone.analysis.columns import COUNT, FLAG, REAL, TEXT, columns_of_result, typed
from paragone.analysis.statistics import summarize_by
from paragone.records.measurements import AllReduces

COLUMNS = typed(
    (TEXT, "backend engine strategy device"),
    (COUNT, "replicas workers bytes"),
    (TEXT, "status reason"),
    (COUNT, "run calls"),
    (REAL, "seconds"),
    (TEXT, "machine host processor"),
    (COUNT, "cores threads"),
    (REAL, "load_before other_cpu_share"),
    (FLAG, "busy"),
    (TEXT, "started software"),
)
# The columns that distinguish series: machines are never pooled.
SERIES = ["backend", "device", "machine"]


def table(results: list[AllReduces]) -> pd.DataFrame:
    """One row per timed run, `seconds` per all-reduce; a group without times is one row without numbers."""
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def medians(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per series, replicas and size that was timed: n, median, low, high in seconds."""
    keys = [*SERIES, "replicas", "bytes"]
    return summarize_by(runs.dropna(subset="seconds"), keys, "seconds", sort=False)


def _rows(result: AllReduces) -> list[dict[str, Any]]:
    shared, rows = columns_of_result(result), []
    for group in result.groups:
        about = {**shared, **vars(group)}
        timed = [
            {**about, **vars(case), "run": number, "seconds": seconds / case.calls}
            for case in group.cases
            for number, seconds in enumerate(case.runs, start=1)
        ]
        rows += timed or [about]
    return rows
