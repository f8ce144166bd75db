"""From results to one tidy row a timed run; from those to medians and to each device's peak."""

import pandas as pd

from paragone.analysis.columns import columns_of_result
from paragone.analysis.statistics import INTERVAL, summarize

_TEXT, _COUNT, _REAL = "string", "Int64", "float64"
COLUMNS = {
    **dict.fromkeys(["backend", "engine", "strategy", "device", "device_name"], _TEXT),
    "precision": _TEXT,
    **dict.fromkeys(["m", "k", "n", "flop"], _COUNT),
    "square": "boolean",
    "name": _TEXT,
    **dict.fromkeys(["status", "reason"], _TEXT),
    **dict.fromkeys(["run", "calls"], _COUNT),
    **dict.fromkeys(["seconds", "flops_per_second", "relative_error"], _REAL),
    **dict.fromkeys(["machine", "host", "processor"], _TEXT),
    **dict.fromkeys(["cores", "memory_bytes", "threads"], _COUNT),
    **dict.fromkeys(["load_before", "other_cpu_share"], _REAL),
    "busy": "boolean",
    **dict.fromkeys(["started", "software"], _TEXT),
}
# What tells two series of one figure or table apart: machines are never pooled.
SERIES = ["backend", "device", "device_name", "machine", "threads"]
CASE = [*SERIES, "precision", "m", "k", "n", "square"]
# What the runs of workloads have and products of matrices have not.
NOT_HERE = ["dataset", "data_source", "data_edition", "violations"]
PEAK = "highest median over the square sizes, FLOP = 2 m k n"


def table(results: list[dict]) -> pd.DataFrame:
    """One row a timed run, `seconds` a product; a case without runs is one row without numbers."""
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def medians(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row a case of `CASE`, in the order of the table: runs (number and names), median, interval.

    A case without numbers has 0 runs and its `status` and `reason`.
    """
    rows = []
    for group, part in runs.groupby(CASE, sort=False, dropna=False):
        summary = vars(summarize(part[column]))
        summary["runs"] = summary.pop("n")  # n is a side of the matrices
        told = part[["status", "reason"]].iloc[0].to_dict()
        told["names"] = " ".join(part["name"].dropna())
        rows.append({**dict(zip(CASE, group, strict=True)), **told, **summary})
    return pd.DataFrame(rows)


def peaks(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a series and precision that has one: the square size with the highest median FLOP/s."""
    cases = medians(runs, "flops_per_second")
    cases = cases[cases["square"] & (cases["runs"] > 0)]
    best = cases.groupby([*SERIES, "precision"], sort=False, dropna=False)["median"].idxmax()
    return cases.loc[best].rename(columns={"m": "size"}).reset_index(drop=True)


def peaks_document(runs: pd.DataFrame) -> dict:
    """peaks.json: the peaks that achieved FLOP/s are a share of, and how they were found."""
    names = {"median": "flops_per_second", "runs": "n"}
    shown = [*SERIES, "precision", "size", *names, "low", "high"]
    found = peaks(runs)[shown].rename(columns=names).astype(object)
    found = found.where(found.notna(), None)
    return {
        "schema": 1,
        "definition": PEAK,
        "interval": INTERVAL,
        "peaks": found.to_dict(orient="records"),
    }


def with_labels(cases: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """`cases` with the column `label`: the backend's, and its machine where it has several."""
    told = cases["backend"].map(lambda name: labels.get(name, name)).astype("string")
    several = cases.groupby("backend")["machine"].transform("nunique") > 1
    return cases.assign(label=told.mask(several, told + " on " + cases["machine"]))


def spread(counts: pd.Series) -> str:
    """`5`, or `4 to 5`: how many timed runs stand behind the medians; `0` for none."""
    known = sorted({int(count) for count in counts if count})
    return " to ".join(str(count) for count in dict.fromkeys([*known[:1], *known[-1:]])) or "0"


def _rows(result: dict) -> list[dict]:
    shared = {**columns_of_result(result), "device_name": result["device_name"]}
    rows = []
    for case in result["cases"]:
        m, k, n = case["shape"]
        told = {key: case[key] for key in case if key not in ("shape", "runs")}
        told |= {"m": m, "k": k, "n": n, "square": m == k == n}
        for number, seconds in enumerate(case["runs"] or [None], start=1):
            each = seconds and seconds / case["calls"]
            rows.append(
                {
                    **shared,
                    **told,
                    "run": seconds and number,
                    "name": seconds
                    and f"{shared['backend']}.{case['precision']}.{m}x{k}x{n}.{number}",
                    "seconds": each,
                    "flops_per_second": each and case["flop"] / each,
                }
            )
    return rows
