"""The columns of the tidy tables of runs and epochs, with their types, and which of them are speeds."""

from collections.abc import Iterable
from typing import Any

from paragone.analysis.compliance import limit
from paragone.config.datasets import MEASURED
from paragone.config.questions import cell
from paragone.config.run_spec import Spec
from paragone.records.contest_record import Contestant
from paragone.records.measurements import MeasuringProcess, Parity
from paragone.records.run_metrics import combined, other_cpu_share
from paragone.records.run_record import CLOCK_PARTS, RunRecord
from paragone.tasks import METRICS

TEXT, COUNT, REAL, FLAG = "string", "Int64", "float64", "boolean"


def typed(*columns: tuple[str, str]) -> dict[str, str]:
    """Expand pairs of a type and its columns to a mapping from column to type."""
    return {name: kind for kind, names in columns for name in names.split()}


def of_metrics(prefix: str = "") -> str:
    """Return the names of the columns of the metrics of all tasks, for all splits."""
    return " ".join(f"{prefix}{split}_{name}" for split in MEASURED for name in METRICS)


RUN_COLUMNS = typed(
    (TEXT, "run experiment workload dataset model model_settings task quality"),
    (TEXT, "precision tuning backend device"),
    (COUNT, "replicas workers global_batch per_replica_batch seed"),
    (COUNT, "planned_epochs planned_epoch_examples epochs"),
    (TEXT, "status reason parity violations mixed"),
    (TEXT, "data_source data_edition manifest_sha256 input_shape"),
    (COUNT, "train_examples validation_examples test_examples parameters"),
    *(
        (REAL, " ".join(f"{split}_{level}" for split in MEASURED))
        for level in ("majority", "guessing_loss", "variance")
    ),
    (TEXT, "planned_initializer initializer initial_weights final_weights"),
    (REAL, f"{of_metrics('final_')} final_test_quality steady_examples_per_second"),
    (TEXT, "steady_source"),
    (REAL, "joules_per_example"),
    (COUNT, "train_flop_per_example"),
    (REAL, "steady_flop_per_second steady_peak_share peak_flop_per_second"),
    (REAL, " ".join(f"{part}_seconds" for part in (*CLOCK_PARTS, "end_to_end"))),
    (TEXT, "target_metric"),
    (REAL, "target_value"),
    (COUNT, "target_patience"),
    (FLAG, "target_reached"),
    (REAL, "target_last_miss_seconds target_first_hit_seconds"),
    (FLAG, "resumed"),
    (TEXT, "started machine machine_name"),
    (COUNT, "machines cores"),
    (TEXT, "devices"),
    (COUNT, "threads"),
    (REAL, "other_cpu_share"),
    (FLAG, "busy throttled"),
    (COUNT, "peak_host_bytes peak_device_bytes programs_compiled programs_cached"),
    (TEXT, "software commit"),
    (FLAG, "dirty"),
)
EPOCH_COLUMNS = typed(
    (TEXT, "run experiment workload backend"),
    (COUNT, "replicas global_batch seed epoch steps examples"),
    (REAL, f"learning_rate {of_metrics()}"),
    (REAL, "train_seconds evaluate_seconds elapsed_train_seconds"),
    (FLAG, "first_of_process"),
    (REAL, "other_cpu_share"),
)
# Empty for a run that was not completed, even if some of its epochs were trained.
STEADY_COLUMNS = [name for name in RUN_COLUMNS if name.startswith("steady_")]
# Empty for a run without proven parity, and for one that is invalid.
SPEED_COLUMNS = [name for name in RUN_COLUMNS if name.endswith("_seconds")]
SPEED_COLUMNS += [*STEADY_COLUMNS, "joules_per_example"]
EPOCH_SPEED_COLUMNS = ["train_seconds", "evaluate_seconds", "elapsed_train_seconds"]

PARITY = {True: "passed", False: "failed", None: "not checked"}


def columns_of_spec(spec: Spec) -> dict[str, Any]:
    """Return the columns that say to which cell a run or a variant belongs, and its seed."""
    return {
        **dict(cell(spec)),
        "device": spec.backend.device,
        "workers": spec.workers,
        "seed": spec.seed,
    }


def is_proven(record: RunRecord | Contestant, parity: Parity) -> bool | None:
    """Return whether the backend passed the parity gate; False if the record's own first steps failed."""
    if record.first_steps is not None and record.first_steps.passed is False:
        return False
    return parity.get((record.spec.workload.name, record.spec.backend.name))


def machine_label(process: MeasuringProcess) -> str:
    """Return the host of a process, its hardware and its fingerprint: a label that no other machine has."""
    machine = process.machine
    cores = "1 core" if process.cores == 1 else f"{process.cores} cores"
    parts = ", ".join([machine.processor, cores, *machine.named_accelerators()])
    return f"{machine.host}: {parts} [{machine.fingerprint[:6]}]"


def columns_of_process(process: MeasuringProcess) -> dict[str, Any]:
    """Return the columns on one process, its machine and what else ran there.

    Runs are kept apart by `machine`; readers are shown `machine_name`, which a bundle replaces by its label.
    """
    software = process.software
    return {
        "machine": machine_label(process),
        "machine_name": machine_label(process),
        "cores": process.cores,
        "threads": process.threads,
        **of_others([other_cpu_share([process.life])]),
        "started": process.started,
        "software": "; ".join(f"{name} {software[name]}" for name in sorted(software)),
    }


def of_others(shares: Iterable[float | None]) -> dict[str, Any]:
    """Return the largest CPU share of other processes, and `busy`, whether it exceeds the isolation limit."""
    share = combined(max, shares)
    return {"other_cpu_share": share, "busy": None if share is None else share > limit("isolation")}
