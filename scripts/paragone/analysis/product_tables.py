"""Products of matrices: a row per timed run, medians, device peaks, and the share of them that runs reach."""

from typing import Any

import pandas as pd
from msgspec.structs import asdict

from paragone.analysis.columns import COUNT, FLAG, REAL, TEXT, columns_of_process, typed
from paragone.analysis.statistics import summarize
from paragone.records.measurements import Products

COLUMNS = typed(
    (TEXT, "backend device device_name precision"),
    (COUNT, "m k n flop"),
    (FLAG, "square"),
    (TEXT, "name status reason"),
    (COUNT, "run calls"),
    (REAL, "seconds flops_per_second relative_error"),
    (TEXT, "machine machine_name"),
    (COUNT, "cores threads"),
    (REAL, "other_cpu_share"),
    (FLAG, "busy"),
    (TEXT, "started software"),
)
# The columns that distinguish series of a figure or table: machines are never pooled.
SERIES = ["backend", "device", "device_name", "machine", "machine_name", "threads"]
CASE = [*SERIES, "precision", "m", "k", "n", "square"]
# Columns of runs of workloads that products of matrices lack.
NOT_HERE = ["dataset", "data_source", "data_edition", "violations"]
_DEVICE = ["machine", "device", "threads", "precision"]
PEAK = "highest median over the square sizes, FLOP = 2 m k n"


def table(results: list[Products]) -> pd.DataFrame:
    """Return one row per timed run, `seconds` per product; a case without runs has one without numbers."""
    rows = [row for result in results for row in _rows(result)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)


def medians(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return one row per case, in the order of the table: number and names of runs, median, interval.

    A case without numbers has 0 runs and its `status` and `reason`.
    """
    rows = []
    for group, part in runs.groupby(CASE, sort=False, dropna=False):
        summary = vars(summarize(part[column]))
        summary["runs"] = summary.pop("n")  # n is a side of the matrices
        ended = part[["status", "reason"]].iloc[0].to_dict()
        ended["names"] = " ".join(part["name"].dropna())
        rows.append({**dict(zip(CASE, group, strict=True)), **ended, **summary})
    return pd.DataFrame(rows)


def peaks(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per series and precision: the square size with the highest median FLOP/s."""
    cases = medians(runs, "flops_per_second")
    cases = cases[cases["square"] & (cases["runs"] > 0)]
    best = cases.groupby([*SERIES, "precision"], sort=False, dropna=False)["median"].idxmax()
    return cases.loc[best].rename(columns={"m": "size"}).reset_index(drop=True)


def with_share(runs: pd.DataFrame, products: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` with the peak of their device and their share of it; missing where one is not known.

    The peak is the highest of any backend on one such device of this machine, with as many threads, in
    this precision; times the replicas, except on CPUs, whose logical devices share the cores. `products`: one
    row per timed run, as `table` has them.
    """
    if products.empty:
        return runs
    timed = peaks(products).astype(dict.fromkeys(_DEVICE, object))
    fastest = timed.groupby(_DEVICE, dropna=False)["median"].max()
    keys = pd.MultiIndex.from_frame(runs[_DEVICE].astype(object))
    device = pd.Series(fastest.reindex(keys).to_numpy(), runs.index, "Float64").astype("float64")
    devices = runs["replicas"].where(runs["device"] != "cpu", 1).astype("float64")
    peak = device * devices
    share = runs["steady_flop_per_second"] / peak
    return runs.assign(peak_flop_per_second=peak, steady_peak_share=share)


def with_labels(cases: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Return `cases` with the column `label`: that of the backend, and its machine where it has several."""
    names = cases["backend"].map(lambda name: labels.get(name, name)).astype("string")
    several = cases.groupby("backend")["machine"].transform("nunique") > 1
    return cases.assign(label=names.mask(several, names + " on " + cases["machine_name"]))


def _rows(result: Products) -> list[dict[str, Any]]:
    backend, rows = result.backend, []
    shared = {
        "backend": backend.name,
        "device": backend.device,
        "device_name": result.device_name,
        **columns_of_process(result.process),
    }
    for case in result.cases:
        m, k, n = case.shape
        fields = {**shared, **asdict(case), "m": m, "k": k, "n": n, "square": m == k == n}
        calls = case.calls or 1
        timed = [
            {
                **fields,
                "run": number,
                "name": f"{result.backend.name}.{case.precision}.{m}x{k}x{n}.{number}",
                "seconds": seconds / calls,
                "flops_per_second": case.flop / (seconds / calls),
            }
            for number, seconds in enumerate(case.runs, start=1)
        ]
        rows += timed or [fields]
    return rows
