"""From records to tidy tables: one row a run, one row an epoch. Times are in seconds.

A backend gets durations and speeds only where the parity gate passed for its workload: without that
proof its seconds belong to another computation. The row stays and its `parity` column says why.
A run that breaks a measurement rule stays too: `violations` names the rules, and where one of them makes
it invalid, its `status` is `invalid`.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis.columns import (
    EPOCH_COLUMNS,
    EPOCH_SPEED_COLUMNS,
    RUN_COLUMNS,
    SPEED_COLUMNS,
    STEADY_COLUMNS,
    machine_label,
)
from paragone.analysis.peaks import Peaks, with_share
from paragone.base.errors import UserError
from paragone.config.run_spec import cell_of
from paragone.records.compliance.rules import INVALID, UNREADABLE
from paragone.records.compliance.violations import Violation, by_run
from paragone.records.parity_reports import Parity

MEMORY = ("peak_host_bytes", "peak_device_bytes")
ENERGY = ("cpu_joules", "accelerator_joules")

_PARITY = {True: "passed", False: "failed", None: "not checked"}


def tables(
    records: list[dict],
    experiment: str,
    parity: Parity,
    peaks: Peaks = (),
    violations: Sequence[Violation] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs and epochs of valid `records`, in the order of backend, replicas, batch and seed.

    `peaks`: what matrix products reached; runs on other machines or in other precisions have no share.
    `violations`: what scripts/check_records.py found. A run whose record cannot be read is a row with
    what its name tells.

    Raises UserError when two records tell of the same run.
    """
    broken = by_run(violations)
    unreadable = [run for run, told in broken.items() if {one.rule for one in told} & UNREADABLE]
    runs = pd.DataFrame(
        [_run_row(record, experiment, parity, broken.get(record["run"], [])) for record in records]
        + [_unreadable_row(run, experiment, parity, broken[run]) for run in unreadable]
    )
    repeated = runs.loc[runs["run"].duplicated(), "run"].unique()
    if len(repeated):
        raise UserError(f"run {repeated[0]} was given more than once; name each record once")
    epochs = pd.DataFrame([row for record in records for row in _epoch_rows(record, experiment)])
    runs = runs.reindex(columns=list(RUN_COLUMNS)).astype(RUN_COLUMNS)
    epochs = epochs.reindex(columns=list(EPOCH_COLUMNS)).astype(EPOCH_COLUMNS)
    runs = with_share(runs, peaks)
    unproven = (runs["parity"] != "passed") | (runs["status"] == "invalid")
    runs.loc[unproven, SPEED_COLUMNS] = pd.NA
    runs.loc[runs["status"] != "completed", STEADY_COLUMNS] = pd.NA
    epochs.loc[epochs["run"].isin(runs.loc[unproven, "run"]), EPOCH_SPEED_COLUMNS] = pd.NA
    order = ["workload", "backend", "replicas", "global_batch", "seed", "run"]
    return (
        runs.sort_values(order, ignore_index=True),
        epochs.sort_values(["run", "epoch"], ignore_index=True),
    )


def merge(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The tables of several experiments as one. A shared run is one row naming all of them."""
    whole = pd.concat(parts, ignore_index=True)
    key = [name for name in ("run", "epoch") if name in whole]
    names = whole.groupby(key)["experiment"].transform(lambda part: " ".join(sorted(set(part))))
    return whole.assign(experiment=names).drop_duplicates(key, ignore_index=True)


def read(path: Path) -> pd.DataFrame:
    """A table that `write` made as Parquet. Raises UserError when there is none."""
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no table there ({error}); run collect.py first") from None


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write as CSV or Parquet, by suffix; complete or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(partial, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(partial, index=False)
    else:
        raise UserError(f"{path}: a table is written as .csv or .parquet")
    os.replace(partial, path)


def _run_row(record: dict, experiment: str, parity: Parity, violations: list[Violation]) -> dict:
    spec, clocks, target = record["spec"], record["clocks"], record["target"] or {}
    workload, backend = spec["workload"], spec["backend"]
    row = {
        "run": record["run"],
        "experiment": experiment,
        "workload": workload["name"],
        "dataset": workload["dataset"],
        "model": workload["model"]["name"],
        "model_settings": "; ".join(
            f"{key}={value}" for key, value in sorted(workload["model"].items()) if key != "name"
        ),
        "loss": workload.get("loss", "cross_entropy"),
        "precision": spec.get("precision", "float32"),
        "backend": backend["name"],
        **{key: backend[key] for key in ("engine", "strategy", "device")},
        "replicas": spec["replicas"],
        "workers": record["devices"]["requested"]["workers"],
        "global_batch": spec["batch"]["global"],
        "per_replica_batch": spec["batch"]["per_replica"],
        "seed": spec["seed"],
        "planned_epochs": spec["epochs"],
        "planned_steps_per_epoch": spec.get("steps_per_epoch"),
        "planned_initializer": workload["initializer"],
        **_standing(record["status"], record["reason"], violations),
        "parity": _PARITY[parity.get((workload["name"], backend["name"]))],
        **_renamed(record["data"], {"source": "data_source", "edition": "data_edition"}),
        "input_shape": " x ".join(map(str, record["data"]["input_shape"]))
        if record["data"]
        else None,
        **(record["model"] or {}),
        **_outcome(record["epochs"]),
        **_renamed(record["steady"], {}, "steady_"),
        **(record["efficiency"] or {}),
        **{f"target_{key}": target.get(key) for key in ("accuracy", "patience", "reached")},
        "target_epoch": target.get("epoch"),
        "target_last_miss_seconds": target.get("last_miss"),
        "target_first_hit_seconds": target.get("first_hit"),
        **_where(record["processes"]),
    }
    if clocks:
        parts = {**clocks["cold"], **{key: clocks[key] for key in clocks if key != "cold"}}
        row |= {f"{part}_seconds": seconds for part, seconds in parts.items()}
    return row


def _unreadable_row(run: str, experiment: str, parity: Parity, violations: list[Violation]) -> dict:
    cell = cell_of(run)
    return {
        "run": run,
        "experiment": experiment,
        **cell,
        **_standing("unreadable", None, violations),
        "parity": _PARITY[parity.get((cell["workload"], cell["backend"]))],
        "epochs": 0,
    }


def _standing(status: str, reason: str | None, violations: list[Violation]) -> dict:
    """How the run ended, and whether that counts."""
    rules = list(dict.fromkeys(one.rule for one in violations))
    told = {"violations": " ".join(rules) or None}
    if invalid := [one for one in violations if one.severity == INVALID]:
        invalid_reason = "; ".join(f"{one.rule}: {one.where} {one.value}" for one in invalid)
        return {"status": "invalid", "reason": f"was {status}; {invalid_reason}", **told}
    return {"status": status, "reason": reason, **told}


def _outcome(epochs: list[dict]) -> dict:
    if not epochs:
        return {"epochs": 0}
    last, best = epochs[-1], max(epochs, key=lambda epoch: epoch["test_accuracy"])
    measures = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    return {
        "epochs": len(epochs),
        **{f"final_{key}": last[key] for key in measures},
        "best_test_accuracy": best["test_accuracy"],
        "best_test_epoch": best["epoch"],
    }


def _where(processes: list[dict]) -> dict:
    first, machine = processes[0], processes[0]["machine"]
    # A run whose processes saw several machines belongs to that set, not to its first member.
    names = dict.fromkeys(machine_label(one["host"], one["machine"]) for one in processes)
    loads = [one["load"] for one in processes]
    return {
        "resumed": any(one["first_epoch"] > 1 for one in processes),
        "processes": len(processes),
        "started": first["started"],
        "machine": "; ".join(names),
        "host": first["host"],
        **{key: machine[key] for key in ("processor", "cores", "memory_bytes")},
        "devices": "; ".join(machine["devices"]),
        "threads": first["threads"],
        "load_before": first["load"]["before"],
        "other_cpu_share": _of_all(max, [load["other_cpu_share"] for load in loads]),
        "busy": _of_all(any, [load["busy"] for load in loads]),
        "throttled": _of_all(any, [_throttled(load) for load in loads]),
        **{key: _of_all(max, [one["memory"][key] for one in processes]) for key in MEMORY},
        **{key: _total([one["energy"][key] for one in processes]) for key in ENERGY},
        "commit": (first["git"] or {}).get("commit"),
        "dirty": (first["git"] or {}).get("dirty"),
        "config_sha256": first["config_sha256"],
        "software": "; ".join(
            f"{name} {first['software'][name]}" for name in sorted(first["software"])
        ),
    }


def _throttled(load: dict) -> bool | None:
    told = [load["cpu_throttles"], load["accelerator_throttled"]]
    return _of_all(any, told)


def _of_all(combine: Callable, values: list) -> Any:
    """Combine what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return combine(known) if known else None


def _total(values: list) -> float | None:
    """The sum over all processes; None when one of them does not know its part."""
    return None if None in values else sum(values)


def _epoch_rows(record: dict, experiment: str) -> list[dict]:
    spec = record["spec"]
    return [
        {
            **epoch,
            "run": record["run"],
            "experiment": experiment,
            "workload": spec["workload"]["name"],
            "backend": spec["backend"]["name"],
            "replicas": spec["replicas"],
            "global_batch": spec["batch"]["global"],
            "seed": spec["seed"],
            "elapsed_train_seconds": epoch["elapsed"],
        }
        for epoch in record["epochs"]
    ]


def _renamed(part: dict | None, names: dict, prefix: str = "") -> dict:
    return {prefix + names.get(key, key): value for key, value in (part or {}).items()}
