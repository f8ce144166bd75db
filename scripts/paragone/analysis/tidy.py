"""From records to tidy tables: one row per run, one row per epoch. Times are in seconds.

A backend has durations and speeds only if the parity gate passed for its workload: without that proof they
may belong to another computation. The row stays, and its column `parity` gives the reason.
A run that breaks measurement rules stays, too: `violations` names the rules, and if the severity of one of
them is "invalid", so is the run's `status`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import to_builtins

from paragone.analysis import columns, compliance, contests
from paragone.analysis.compliance import INVALID, NO_SPEED, Violation
from paragone.base.atomic_files import writing
from paragone.base.errors import UserError
from paragone.config.questions import SIZE
from paragone.records import measurements, record, run_metrics
from paragone.records.measurements import Parity
from paragone.records.run_metrics import combined
from paragone.records.run_record import Process, RunRecord

Row = dict[str, Any]


def of_experiment(
    experiment: str, runs: Iterable[Path], questions: Iterable[Path], parity: Sequence[Path]
) -> dict[str, pd.DataFrame]:
    """Return the tables of an experiment by name: `runs`, `epochs`, `rounds`, and `compliance`, rules broken.

    `runs`, `questions`: paths of records, of runs and of contests. `parity`: reports of the gate. Raises
    `UserError` that names a record which cannot be read, or is in the folder of another.
    """
    records = {path: record.read(path) for path in runs}
    held = {path: record.read_contests(path) for path in questions}
    runs_of = {path: measured.run for path, measured in records.items()}
    for path, name in {**runs_of, **{path: held[path].question for path in held}}.items():
        if path.parent.name != name:
            raise UserError(f"{path}: the record of {name}; delete this folder and run again")
    verdicts = measurements.read_parity(parity)
    violations = compliance.find(experiment, records, held, verdicts)
    rounds = contests.rounds(held.values(), experiment, verdicts, violations)
    flop = measurements.read_flop(parity)
    of_runs, of_epochs = tables([*records.values()], experiment, verdicts, violations, rounds, flop)
    names = ["experiment", "rule", "severity", "run", "file", "where", "value"]
    rows = [[getattr(violation, name) for name in names] for violation in violations]
    broken = pd.DataFrame(rows, columns=names)
    return {"runs": of_runs, "epochs": of_epochs, "rounds": rounds, "compliance": broken}


def tables(
    records: list[RunRecord],
    experiment: str,
    parity: Parity,
    violations: Sequence[Violation] = (),
    rounds: pd.DataFrame | None = None,
    flop: Mapping[str, int] = {},
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs and epochs of valid `records`, in the order of backend, replicas, batch and seed.

    `violations`: those that `compliance.find` found. `rounds`: the windows of contests; a run of a variant
    that they timed has its median speed there, every other run the speed of its epochs. `flop`: of training
    on one example, by workload, as far as they were counted. Shares of a peak are left for `with_share`, so
    that nothing else waits for matrix products.
    """
    runs = pd.DataFrame([_run_row(record, experiment, parity, violations) for record in records])
    epochs = pd.DataFrame([row for record in records for row in _epoch_rows(record, experiment)])
    runs = runs.reindex(columns=list(columns.RUN_COLUMNS)).astype(columns.RUN_COLUMNS)
    epochs = epochs.reindex(columns=list(columns.EPOCH_COLUMNS)).astype(columns.EPOCH_COLUMNS)
    if rounds is not None:
        runs = contests.with_speeds(runs, rounds)
    runs["train_flop_per_example"] = runs["workload"].map(flop).astype("Int64")
    flops = runs["train_flop_per_example"].astype("float64")
    runs["steady_flop_per_second"] = runs["steady_examples_per_second"] * flops
    slow = {row.run for row in violations if row.severity == NO_SPEED}
    unproven = (runs["parity"] != "passed") | (runs["status"] == "invalid")
    unproven |= runs["run"].isin(slow)
    runs.loc[unproven, columns.SPEED_COLUMNS] = pd.NA
    runs.loc[runs["status"] != "completed", columns.STEADY_COLUMNS] = pd.NA
    runs.loc[runs["steady_examples_per_second"].isna(), "steady_source"] = pd.NA
    epochs.loc[epochs["run"].isin(runs.loc[unproven, "run"]), columns.EPOCH_SPEED_COLUMNS] = pd.NA
    epochs = epochs.sort_values(["run", "epoch"], ignore_index=True)
    order = ["workload", "backend", *SIZE, "seed", "run"]
    return runs.sort_values(order, ignore_index=True), epochs


def merge(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Join the tables of several experiments. A shared run is one row that names all of them."""
    whole = pd.concat(parts, ignore_index=True)
    key = [name for name in ("run", "epoch") if name in whole]
    names = whole.groupby(key)["experiment"].transform(lambda part: " ".join(sorted(set(part))))
    return whole.assign(experiment=names).drop_duplicates(key, ignore_index=True)


def read(path: Path) -> pd.DataFrame:
    """Read a Parquet table of `write`. Raises `UserError` when there is none."""
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); run collect.py first") from None


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write as CSV or Parquet, by suffix; whole or not at all."""
    with writing(path, "wb") as file:
        if path.suffix == ".csv":
            frame.to_csv(file, index=False)
        else:
            frame.to_parquet(file, index=False)


def _run_row(
    record: RunRecord, experiment: str, parity: Parity, violations: Sequence[Violation]
) -> Row:
    spec, workload, model = record.spec, record.spec.workload, record.model
    data = record.data
    last = run_metrics.outcomes(record, record.epochs[-1]) if record.epochs else {}
    return {
        **_cell(record, experiment),
        "dataset": workload.dataset,
        "model": workload.model_name,
        "model_settings": "; ".join(
            f"{key}={value}" for key, value in sorted(workload.model_options.items())
        ),
        "task": workload.task.name,
        "quality": workload.task.quality_name,
        "per_replica_batch": spec.per_replica_batch,
        "planned_epochs": spec.epochs,
        "planned_epoch_examples": data and spec.epoch_examples(data.train_examples),
        "planned_initializer": workload.initializer,
        **_status(record, violations),
        "parity": columns.PARITY[columns.is_proven(record, parity)],
        **(to_builtins(data) if data else {}),
        "data_source": data and data.source,
        "data_edition": data and data.edition,
        "input_shape": data and " x ".join(map(str, data.input_shape)),
        **(to_builtins(model) if model else {}),
        "epochs": len(record.epochs),
        **{f"final_{name}": value for name, value in last.items()},
        "final_test_quality": last.get(f"test_{workload.task.quality_name}"),
        "steady_examples_per_second": run_metrics.epochs_speed(record),
        "steady_source": contests.OF_EPOCHS,
        "joules_per_example": run_metrics.joules_per_example(record),
        **_target(record),
        **_processes(record.processes),
        **_seconds(record),
    }


def _status(record: RunRecord, violations: Sequence[Violation]) -> Row:
    broken = [row for row in violations if row.run == record.run]
    rules = " ".join(dict.fromkeys(row.rule for row in broken)) or None
    mixed = [(row.where.rpartition(".")[2], row.value) for row in broken if row.rule == "mixed"]
    status, reason = record.status, record.reason
    if invalid := [row for row in broken if row.severity == INVALID]:
        why = "; ".join(f"{row.rule}: {row.where} {row.value}" for row in invalid)
        status, reason = "invalid", f"was {status}; {why}"
    return {
        "status": status,
        "reason": reason,
        "violations": rules,
        "mixed": "; ".join(map(" ".join, mixed)) or None,
    }


def _target(record: RunRecord) -> Row:
    if (target := record.spec.workload.target) is None:
        return {}
    last_miss, first_hit = run_metrics.time_to_target(record) or (None, None)
    return {
        "target_metric": target.metric,
        "target_value": target.value,
        "target_patience": target.patience,
        "target_reached": first_hit is not None,
        "target_last_miss_seconds": last_miss,
        "target_first_hit_seconds": first_hit,
    }


def _seconds(record: RunRecord) -> Row:
    parts, whole = run_metrics.parts(record), run_metrics.end_to_end(record)
    if parts is None or whole is None:
        return {}
    parts["end_to_end"] = whole - parts["first_steps"]  # nobody who trains waits for a measurement
    return {f"{part}_seconds": seconds for part, seconds in parts.items()}


def _processes(processes: list[Process]) -> Row:
    first = processes[0]
    programs = [process.programs for process in processes if process.programs]
    machines = dict.fromkeys(map(columns.machine_label, processes))
    return {
        **columns.columns_of_process(first),
        "resumed": any(process.first_epoch > 1 for process in processes),
        # A run whose processes saw several machines belongs to that set, not to its first member.
        "machine": "; ".join(machines),
        "machine_name": "; ".join(machines),
        "machines": len(machines),
        "devices": "; ".join(first.devices),
        **columns.of_others(run_metrics.other_cpu_share([process.life]) for process in processes),
        "throttled": combined(any, (run_metrics.throttled(process.life) for process in processes)),
        "peak_host_bytes": combined(max, (process.peak_host_bytes for process in processes)),
        "peak_device_bytes": combined(max, (process.peak_device_bytes for process in processes)),
        "programs_compiled": combined(sum, (count.compiled for count in programs)),
        "programs_cached": combined(sum, (count.cached for count in programs)),
        **(to_builtins(first.git) if first.git else {}),
    }


def _epoch_rows(record: RunRecord, experiment: str) -> list[Row]:
    shared = _cell(record, experiment)
    return [
        {
            **to_builtins(epoch),
            **run_metrics.outcomes(record, epoch),
            **shared,
            "examples": run_metrics.examples(record, epoch),
            "elapsed_train_seconds": elapsed,
            "first_of_process": run_metrics.first_of_process(record, epoch),
            "other_cpu_share": run_metrics.other_cpu_share(run_metrics.of_epoch(record, epoch)),
        }
        for epoch, elapsed in zip(record.epochs, run_metrics.elapsed(record), strict=True)
    ]


def _cell(record: RunRecord, experiment: str) -> Row:
    return {"run": record.run, "experiment": experiment, **columns.columns_of_spec(record.spec)}
