"""The rules on what a process and its framework had in force, beside what the specification asks for."""

from collections.abc import Callable, Iterator

from paragone.records.compliance.rules import Checks, Finding
from paragone.records.run_record import RunRecord

CHECKS: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


@CHECKS.rule("tuning")
def tuning(record: RunRecord) -> Iterator[Finding]:
    """The variables that tune each process are those of the run's tuning."""
    asked = record.spec.tuning.variables
    for at, process in enumerate(record.processes):
        if process.variables != asked:
            wrong = f"{process.variables}, the run's tuning has {asked}"
            yield Finding(f"processes[{at}].variables", wrong)


@CHECKS.rule("environment")
def environment(record: RunRecord) -> Iterator[Finding]:
    """No process was started without variables of its shell that would have mattered."""
    for at, process in enumerate(record.processes):
        if process.removed_variables:
            yield Finding(
                f"processes[{at}].removed_variables", ", ".join(process.removed_variables)
            )


@CHECKS.rule("modes")
def modes(record: RunRecord) -> Iterator[Finding]:
    """Deterministic kernels where they are asked for, and no rounded float32, of every process."""
    for at, process in enumerate(record.processes):
        found, where = process.modes, f"processes[{at}].modes"
        if found is None:
            if record.status == "completed" and process is record.processes[-1]:
                yield Finding(where, "null in a completed run")
            continue
        if record.spec.deterministic and not found.deterministic:
            yield Finding(f"{where}.deterministic", "false, deterministic kernels were asked for")
        if found.math_mode != "ieee":
            yield Finding(f"{where}.math_mode", f"{found.math_mode}: float32 was rounded")
