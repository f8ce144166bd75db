"""The columns of the tidy tables of runs and epochs, with their types, and which of them are speeds."""

from typing import Any

from paragone.base.clock_names import PARTS as CLOCK_PARTS
from paragone.records.measurements import AllReduces, MeasuringProcess, Products
from paragone.records.run_record import Machine, Process

_TEXT, _COUNT, _REAL, _FLAG = "string", "Int64", "float64", "boolean"


def _typed(*columns: tuple[str, str]) -> dict[str, str]:
    """Column -> type, of types and the columns that have it."""
    return {name: kind for kind, names in columns for name in names.split()}


RUN_COLUMNS = _typed(
    (_TEXT, "run experiment workload dataset model model_settings loss precision backend"),
    (_TEXT, "engine strategy device"),
    (_COUNT, "replicas workers global_batch per_replica_batch seed"),
    (_COUNT, "planned_epochs planned_steps_per_epoch epochs"),
    (_TEXT, "status reason parity violations"),
    (_TEXT, "data_source data_edition manifest_sha256 input_shape"),
    (_COUNT, "train_examples test_examples parameters"),
    (_TEXT, "planned_initializer initializer initial_weights final_weights"),
    (_REAL, "final_train_loss final_train_accuracy final_test_loss final_test_accuracy"),
    (_REAL, "best_test_accuracy"),
    (_COUNT, "best_test_epoch"),
    (_REAL, "steady_examples_per_second"),
    (_COUNT, "steady_epochs steady_examples"),
    (_REAL, "steady_seconds"),
    (_COUNT, "train_flop_per_example"),
    (_REAL, "steady_flop_per_second steady_peak_share peak_flop_per_second"),
    (_REAL, " ".join(f"{part}_seconds" for part in (*CLOCK_PARTS, "end_to_end"))),
    (_REAL, "target_accuracy"),
    (_COUNT, "target_patience"),
    (_FLAG, "target_reached"),
    (_COUNT, "target_epoch"),
    (_REAL, "target_last_miss_seconds target_first_hit_seconds"),
    (_FLAG, "resumed"),
    (_COUNT, "processes"),
    (_TEXT, "started machine host processor"),
    (_COUNT, "cores memory_bytes"),
    (_TEXT, "devices"),
    (_COUNT, "threads"),
    (_REAL, "load_before other_cpu_share"),
    (_FLAG, "busy throttled"),
    (_COUNT, "peak_host_bytes peak_device_bytes"),
    (_REAL, "cpu_joules accelerator_joules"),
    (_TEXT, "software commit"),
    (_FLAG, "dirty"),
    (_TEXT, "config_sha256"),
)
EPOCH_COLUMNS = _typed(
    (_TEXT, "run experiment workload backend"),
    (_COUNT, "replicas global_batch seed epoch steps examples"),
    (_REAL, "learning_rate train_loss train_accuracy test_loss test_accuracy"),
    (_REAL, "train_seconds evaluate_seconds elapsed_train_seconds"),
    (_FLAG, "first_of_process"),
)
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


def columns_of_process(process: Process | MeasuringProcess) -> dict[str, Any]:
    """The columns on one process, its machine and what else ran there."""
    machine, load, software = process.machine, process.load, process.software
    return {
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
        "software": "; ".join(f"{name} {software[name]}" for name in sorted(software)),
    }


def columns_of_result(result: Products | AllReduces) -> dict[str, Any]:
    """The columns on backend and process that all rows of a result of products or all-reduces share."""
    columns = {"backend": result.backend.name, **vars(result.backend)}
    del columns["name"]  # this column is of runs
    return columns | columns_of_process(result.process)
