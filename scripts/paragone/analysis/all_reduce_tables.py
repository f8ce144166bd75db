"""From results to one tidy row a timed run; from those to medians."""

import pandas as pd

from paragone.analysis.columns import columns_of_result
from paragone.analysis.statistics import summarize

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
# What tells two series apart: machines are never pooled.
SERIES = ["backend", "device", "machine"]


def table(results: list[dict]) -> pd.DataFrame:
    """One row a timed run, `seconds` an all-reduce; a group without times is one row without numbers."""
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def medians(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a series, replicas and size that was timed: n, median, low, high, seconds."""
    rows = []
    keys = [*SERIES, "replicas", "bytes"]
    for group, part in runs.dropna(subset="seconds").groupby(keys, sort=False):
        rows.append({**dict(zip(keys, group, strict=True)), **vars(summarize(part["seconds"]))})
    return pd.DataFrame(rows, columns=[*keys, "n", "median", "low", "high"])


def _rows(result: dict) -> list[dict]:
    shared, rows = columns_of_result(result), []
    for group in result["groups"]:
        about = {key: group[key] for key in ("replicas", "workers", "status", "reason")}
        timed = [
            {
                "bytes": case["bytes"],
                "calls": case["calls"],
                "run": number,
                "seconds": seconds / case["calls"],
            }
            for case in group["cases"]
            for number, seconds in enumerate(case["runs"], start=1)
        ]
        rows += [{**shared, **about, **each} for each in timed or [{}]]
    return rows
