"""The columns of the tidy tables of runs and epochs, with their types, and which of them are speeds."""

from typing import Any

from paragone.base.clock_names import PARTS as CLOCK_PARTS
from paragone.records.measurements import AllReduces, Products
from paragone.records.run_record import Machine

_TEXT, _COUNT, _REAL, _FLAG = "string", "Int64", "float64", "boolean"
RUN_COLUMNS = {
    **dict.fromkeys(["run", "experiment", "workload", "dataset"], _TEXT),
    **dict.fromkeys(["model", "model_settings", "loss", "precision", "backend"], _TEXT),
    **dict.fromkeys(["engine", "strategy", "device"], _TEXT),
    **dict.fromkeys(["replicas", "workers", "global_batch", "per_replica_batch", "seed"], _COUNT),
    **dict.fromkeys(["planned_epochs", "planned_steps_per_epoch", "epochs"], _COUNT),
    **dict.fromkeys(["status", "reason", "parity", "violations"], _TEXT),
    **dict.fromkeys(["data_source", "data_edition", "manifest_sha256"], _TEXT),
    "input_shape": _TEXT,
    **dict.fromkeys(["train_examples", "test_examples", "parameters"], _COUNT),
    **dict.fromkeys(["planned_initializer", "initializer"], _TEXT),
    **dict.fromkeys(["initial_weights", "final_weights"], _TEXT),
    **dict.fromkeys(["final_train_loss", "final_train_accuracy"], _REAL),
    **dict.fromkeys(["final_test_loss", "final_test_accuracy", "best_test_accuracy"], _REAL),
    "best_test_epoch": _COUNT,
    "steady_examples_per_second": _REAL,
    "steady_epochs": _COUNT,
    "steady_examples": _COUNT,
    "steady_seconds": _REAL,
    "train_flop_per_example": _COUNT,
    **dict.fromkeys(["steady_flop_per_second", "steady_peak_share"], _REAL),
    "peak_flop_per_second": _REAL,
    **dict.fromkeys([f"{part}_seconds" for part in (*CLOCK_PARTS, "end_to_end")], _REAL),
    "target_accuracy": _REAL,
    "target_patience": _COUNT,
    "target_reached": _FLAG,
    "target_epoch": _COUNT,
    **dict.fromkeys(["target_last_miss_seconds", "target_first_hit_seconds"], _REAL),
    "resumed": _FLAG,
    "processes": _COUNT,
    "started": _TEXT,
    **dict.fromkeys(["machine", "host", "processor"], _TEXT),
    **dict.fromkeys(["cores", "memory_bytes"], _COUNT),
    "devices": _TEXT,
    "threads": _COUNT,
    **dict.fromkeys(["load_before", "other_cpu_share"], _REAL),
    **dict.fromkeys(["busy", "throttled"], _FLAG),
    **dict.fromkeys(["peak_host_bytes", "peak_device_bytes"], _COUNT),
    **dict.fromkeys(["cpu_joules", "accelerator_joules"], _REAL),
    "software": _TEXT,
    "commit": _TEXT,
    "dirty": _FLAG,
    "config_sha256": _TEXT,
}
EPOCH_COLUMNS = {
    **dict.fromkeys(["run", "experiment", "workload", "backend"], _TEXT),
    **dict.fromkeys(["replicas", "global_batch", "seed"], _COUNT),
    **dict.fromkeys(["epoch", "steps", "examples"], _COUNT),
    **dict.fromkeys(["learning_rate", "train_loss", "train_accuracy"], _REAL),
    **dict.fromkeys(["test_loss", "test_accuracy"], _REAL),
    **dict.fromkeys(["train_seconds", "evaluate_seconds", "elapsed_train_seconds"], _REAL),
    "first_of_process": _FLAG,
}
# Empty for a run that was not completed, even if some of its epochs were trained.
STEADY_COLUMNS = [name for name in RUN_COLUMNS if name.startswith("steady_")]
# Empty for a run without proven parity, and for one that is invalid.
SPEED_COLUMNS = [
    name for name in RUN_COLUMNS if name.endswith("_seconds") or name in STEADY_COLUMNS
]
EPOCH_SPEED_COLUMNS = ["train_seconds", "evaluate_seconds", "elapsed_train_seconds"]


def machine_label(host: str, machine: Machine) -> str:
    """The name of a record's machine, with its fingerprint: no two machines are pooled."""
    return f"{host}: {machine.processor}, {machine.cores} cores [{machine.fingerprint[:6]}]"


def software_label(software: dict[str, str]) -> str:
    """Packages and their versions, by name."""
    return "; ".join(f"{name} {software[name]}" for name in sorted(software))


def columns_of_result(result: Products | AllReduces) -> dict[str, Any]:
    """The columns on backend and process that all rows of a result of products or all-reduces share."""
    backend, process = result.backend, result.process
    machine, load = process.machine, process.load
    return {
        "backend": backend.name,  # the column `name` is that of a run
        "engine": backend.engine,
        "strategy": backend.strategy,
        "device": backend.device,
        "machine": machine_label(process.host, machine),
        "host": process.host,
        "processor": machine.processor,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "threads": process.threads,
        "load_before": load.before,
        "other_cpu_share": load.other_cpu_share,
        "busy": load.busy,
        "started": process.started,
        "software": software_label(process.software),
    }
