"""The tables: what compilers say of each step, and published times with their bounds."""

from typing import Any

import pandas as pd

from ahead_of_time.bounds import PARTS
from ahead_of_time.shown import BOUND, COMPILED, STATUS, Shown, milliseconds
from paragone.reporting.tables import TextTable

VERDICT, NO_BOUND = "lower bound, compiled, not run", "no bound"
EXPLAINED = (
    "Explained at most: arithmetic, memory and links at their documented peaks, one after the other, over "
    "the published time of a step. What the rest was, the sources do not say: their clocks include input, "
    "dispatch and, where noted, compilation and evaluation."
)


def compiled(shown: Shown) -> TextTable:
    """One row per step and target: what its compiler says, or why there is nothing."""
    rows = shown.table
    cells = pd.DataFrame(
        {
            "target": rows["target"],
            "workload": rows["label"],
            "backend": rows["series"],
            "batch": rows["global_batch"].map("{:,}".format),
            "status": [_status(row) for row in rows.to_dict("records")],
            **{f"{part} (ms)": rows[f"{part}_seconds"].map(milliseconds) for part in PARTS},
            "binds": rows["binds"].fillna("-"),
            "memory of a device": [_memory(row) for row in rows.to_dict("records")],
        }
    )
    remarks = [COMPILED, BOUND, shown.validated, *shown.sources]
    return TextTable(rows, f"{shown.heading.title}: compiled, not run", remarks, cells)


def _status(row: dict[str, Any]) -> str:
    return STATUS[row["status"]] + (f": {row['reason']}" if row["reason"] else "")


def _memory(row: dict[str, Any]) -> str:
    if pd.isna(row["memory_bytes"]):
        return "-"
    share = 100 * row["memory_bytes"] / row["device_memory"]
    return f"{row['memory_bytes'] / 1e6:,.0f} MB, {share:.2g} %"


def published_bounds(shown: Shown) -> TextTable:
    """One row per published time of a machine that is not here, with the least time of the compiled step."""
    rows, prefix = shown.published, "bound_seconds_"
    rows = rows.assign(verdict=rows["explained"].map(lambda x: NO_BOUND if pd.isna(x) else VERDICT))
    backends = [name.removeprefix(prefix) for name in rows if name.startswith(prefix)]
    cells = pd.DataFrame(
        {
            **{name: rows[name] for name in ("system", "workload", "condition")},
            "metric": rows["metric"].str.replace("_", " "),
            "published": rows["published"],
            "per step (ms)": rows["step_seconds"].map(milliseconds),
            **{
                f"bound, {shown.label(name)} (ms)": rows[prefix + name].map(milliseconds)
                for name in backends
            },
            "explained at most": rows["explained"].map(_share),
            **{name: rows[name] for name in ("verdict", "why")},
        }
    )
    systems = rows[["system", "target"]].drop_duplicates().itertuples(index=False)
    taken = "; ".join(f"{system} for {target}" for system, target in systems)
    remarks = [f"Taken: {taken}.", COMPILED, BOUND, EXPLAINED, shown.validated, *shown.sources]
    title = f"{shown.heading.title}: published times and lower bounds"
    return TextTable(rows, title, remarks, cells)


def _share(share: float) -> str:
    return "-" if pd.isna(share) else f"{100 * share:.2g} %" if share < 1 else "all"


TABLES = {"published_bounds": published_bounds, "compiled": compiled}
