"""From results of all-reduces to one tidy row per timed run; from those to medians."""

from typing import Any

import pandas as pd

from paragone.analysis.columns import columns_of_result
from paragone.analysis.statistics import summarize
from paragone.records.measurements import AllReduces

_TEXT, _COUNT, _REAL = "string", "Int64", "float64"
COLUMNS = {
    **dict.fromkeys(["backend", "engine", "strategy", "device"], _TEXT),
    **dict.fromkeys(["replicas", "workers", "bytes"], _COUNT),
    **dict.fromkeys(["status", "reason"], _TEXT),
    **dict.fromkeys(["run", "calls"], _COUNT),
    "seconds": _REAL,
    **dict.fromkeys(["machine", "host", "processor"], _TEXT),
    **dict.fromkeys(["cores", "threads"], _COUNT),
    **dict.fromkeys(["load_before", "other_cpu_share"], _REAL),
    "busy": "boolean",
    **dict.fromkeys(["started", "software"], _TEXT),
}
# The columns that distinguish series: machines are never pooled.
SERIES = ["backend", "device", "machine"]


def table(results: list[AllReduces]) -> pd.DataFrame:
    """One row per timed run, `seconds` per all-reduce; a group without times is one row without numbers."""
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def medians(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per series, replicas and size that was timed: n, median, low, high in seconds."""
    rows = []
    keys = [*SERIES, "replicas", "bytes"]
    for group, part in runs.dropna(subset="seconds").groupby(keys, sort=False):
        rows.append({**dict(zip(keys, group, strict=True)), **vars(summarize(part["seconds"]))})
    return pd.DataFrame(rows, columns=[*keys, "n", "median", "low", "high"])


def _rows(result: AllReduces) -> list[dict[str, Any]]:
    shared, rows = columns_of_result(result), []
    for group in result.groups:
        about = {
            **shared,
            "replicas": group.replicas,
            "workers": group.workers,
            "status": group.status,
            "reason": group.reason,
        }
        timed = [
            {
                **about,
                "bytes": case.bytes,
                "calls": case.calls,
                "run": number,
                "seconds": seconds / case.calls,
            }
            for case in group.cases
            for number, seconds in enumerate(case.runs, start=1)
        ]
        rows += timed or [about]
    return rows
