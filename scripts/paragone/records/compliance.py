"""The measurement rules as data, what breaks them in one record, and violations of all rules.

rules/schemas/compliance.csv lists what a machine, a framework or a user can break, with severity and limit.
Rules on single records are checked here, those on the records of an experiment in `analysis.compliance`.
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import UNSET

from paragone.base.atomic_files import writing
from paragone.config.run_spec import Spec
from paragone.records import run_metrics
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, Window, variables
from paragone.records.run_metrics import end_to_end, examples, parts
from paragone.records.run_record import Epoch, FirstSteps, Load, Modes, Process, RunRecord

TABLE = Path(__file__).parents[3] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median, and figures show its status instead of a value. no speed: losses and
# accuracies count, times do not. remark: the value counts and gets a footnote in figures and tables.
INVALID, NO_SPEED, REMARK = SEVERITIES = ("invalid", "no speed", "remark")
READABLE = "record"  # the rule that a record breaks which cannot be read


@dataclass(frozen=True)
class Rule:
    """What must hold, the severity of a violation, the rule's source; `limit` if it has a number."""

    id: str
    severity: str
    limit: float | None
    source: str
    says: str


@dataclass(frozen=True)
class Breach:
    """What breaks a rule: the key in the record, and its value with the expected one."""

    rule: str
    where: str
    value: str


@cache
def table() -> dict[str, Rule]:
    """Return the rules by id, in the order of the file."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row["limit"] = float(row["limit"]) if row["limit"] else None
    return {row["id"]: Rule(**row) for row in rows}


def limit(rule: str) -> float:
    """Return the limit of a rule that has one; raise `KeyError` otherwise."""
    number = table()[rule].limit
    if number is None:
        raise KeyError(f"{TABLE.name}: rule {rule} has no limit")
    return number


def of_run(record: RunRecord) -> Iterator[Breach]:
    """Yield what breaks the rules in the record of a run."""
    yield from _clocks(record)
    yield from _data(record)
    yield from _first_steps(record.first_steps, record.spec, record.status)
    for at, epoch in enumerate(record.epochs):
        yield from _within(f"epochs[{at}]", _accuracies(record, epoch))
    for at, process in enumerate(record.processes):
        where, expected = f"processes[{at}]", record.spec.tuning.variables
        yield from _within(where, _provenance(process))
        yield from _within(where, _variables(process, expected))
        last = record.status == "completed" and process is record.processes[-1]
        if process.modes or last:
            yield from _within(where, _modes(process.modes, record.spec))
        share = run_metrics.share_of_others(process.load)
        yield from _within(where, _isolation("load.life", share))
        yield from _within(where, _throttling("load", process.load))


def of_contests(record: ContestsRecord) -> Iterator[Breach]:
    """Yield what breaks the rules in the record of the contests of a question."""
    for number, contest in enumerate(record.contests):
        where = f"contests[{number}]"
        share = run_metrics.other_cpu_share([window.host for window in contest.windows])
        yield from _within(where, _isolation("windows", share))
        for at, window in enumerate(contest.windows):
            yield from _within(f"{where}.windows[{at}]", _window(contest, window))
        for at, contestant in enumerate(contest.contestants):
            yield from _within(f"{where}.contestants[{at}]", _contestant(contestant))


def at_places(breaches: Iterable[Breach], *places: str) -> list[str]:
    """Return the rules that are broken at places such as `contests[0].windows[3]`, or within them."""
    starts = tuple(f"{place}." for place in places)
    return sorted({breach.rule for breach in breaches if f"{breach.where}.".startswith(starts)})


def _within(where: str, breaches: Iterable[Breach]) -> Iterator[Breach]:
    """Yield breaches in a part of a record, with their keys in the whole: the part is at `where`."""
    return (replace(breach, where=f"{where}.{breach.where}") for breach in breaches)


def _clocks(record: RunRecord) -> Iterator[Breach]:
    """Compare the process's own clock with the kernel's, which goes on while a machine is suspended."""
    seconds, total = parts(record), end_to_end(record)
    if seconds is None:
        return
    if total is None:
        yield Breach("clock-sum", "processes.age", "null, with clocks")
    elif abs((added := math.fsum(seconds.values())) - total) > limit("clock-sum"):
        text = f"{total:.3f} s by the kernel's clock, the parts add up to {added:.3f} s"
        yield Breach("clock-sum", "processes.age", text)


def _data(record: RunRecord) -> Iterator[Breach]:
    """Find splits with fewer examples than the specification requests."""
    if record.data is None:
        return
    workload, data = record.spec.workload, record.data
    requested = {"train_examples": workload.train_examples}
    requested["test_examples"] = workload.evaluation.first if workload.evaluation else None
    for key, count in requested.items():
        if count and count > getattr(data, key):
            text = f"{getattr(data, key)}, {count} were asked for"
            yield Breach("examples", f"data.{key}", text)


def _first_steps(steps: FirstSteps | None, spec: Spec, status: str) -> Iterator[Breach]:
    """Judge the comparison of the first steps with those of the reference; dropout has none."""
    passed, reason = (steps.passed, str(steps.reason)) if steps else (None, "None")
    if passed is False:
        yield Breach("first-steps", "first_steps", reason)
    if passed is None and status == "completed" and not spec.workload.dropout:
        yield Breach("first-steps-compared", "first_steps", reason)


def _accuracies(record: RunRecord, epoch: Epoch) -> Iterator[Breach]:
    """Accuracies of examples with one class each are fractions of a whole number of them."""
    if record.data is None or record.data.positions:
        return
    splits = {"train": (epoch.train_accuracy, examples(record, epoch))}
    splits["test"] = epoch.test_accuracy, record.data.test_examples
    for split, (fraction, number) in splits.items():
        right = 0.0 if fraction is UNSET else fraction * number
        if abs(right - round(right)) > limit("accuracy"):
            text = f"{fraction} is {right:.3f} of {number} examples"
            yield Breach("accuracy", f"{split}_accuracy", text)


def _provenance(process: Process) -> Iterator[Breach]:
    """Judge the shell and the code that a process was started with."""
    if process.removed_variables:
        yield Breach("environment", "removed_variables", ", ".join(process.removed_variables))
    if process.git is None:
        yield Breach("clean-code", "git", "null: not a repository")
    elif process.git.dirty:
        yield Breach("clean-code", "git.dirty", f"true, on {process.git.commit}")


def _variables(process: Process, requested: dict[str, str]) -> Iterator[Breach]:
    """Compare the variables that tune a process with those that its run requests."""
    if process.variables != requested:
        text = f"{process.variables}, the run's tuning has {requested}"
        yield Breach("requested", "variables", text)


def _modes(modes: Modes | None, spec: Spec) -> Iterator[Breach]:
    """Compare kernels and precision with what the specification requests."""
    if modes is None:
        yield Breach("requested", "modes", "null in a completed run")
        return
    if spec.deterministic and not modes.deterministic:
        text = "false, deterministic kernels were asked for"
        yield Breach("requested", "modes.deterministic", text)
    if modes.math_mode != "ieee":
        yield Breach("requested", "modes.math_mode", f"{modes.math_mode}: float32 was rounded")


def _isolation(where: str, share: float | None) -> Iterator[Breach]:
    """Compare the share of other processes in the CPU time of the host with its limit."""
    if share is not None and share > limit("isolation"):
        yield Breach("isolation", where, f"others had {share:.3f} of the host's CPU time")


def _throttling(where: str, load: Load) -> Iterator[Breach]:
    """Find cores that heat or a quota slowed."""
    if (life := load.life) and run_metrics.throttled(load):
        heat, quota = life.heat_throttles or 0, life.quota_throttled or 0
        yield Breach("throttling", where, f"{heat} times by heat, {quota:g} s by a quota")


def _window(contest: Contest, window: Window) -> Iterator[Breach]:
    """Judge a turn: the variants that wait sleep, and updates and batches are as many as its steps.

    A turn has one step in its first epoch, and one more than `steps` in its second.
    """
    if window.sleeping > limit("asleep") * window.whole:
        text = f"{window.sleeping:.4f} s of CPU time in {window.whole:.3f} s"
        yield Breach("asleep", "sleeping", text)
    steps, spec = window.steps + 2, contest.contestants[window.contestant].spec
    if window.batches != steps:
        yield Breach("counted", "batches", f"{window.batches} in {steps} steps")
    several = spec.workload.accumulated
    if abs(window.updates * several - steps) >= several:
        yield Breach("counted", "updates", f"{window.updates} in {steps} steps")
    yield from _throttling("host", Load(before=0, life=window.host))


def _contestant(variant: Contestant) -> Iterator[Breach]:
    """Judge a variant of a contest: restored at its end, and started as its specification requests."""
    completed = variant.status == "completed"
    if completed and not variant.restored:
        yield Breach("restored", "restored", f"{variant.restored}")
    yield from _first_steps(variant.first_steps, variant.spec, variant.status)
    if variant.modes or completed:
        yield from _modes(variant.modes, variant.spec)
    for at, process in enumerate(variant.processes):
        yield from _within(f"processes[{at}]", _provenance(process))
        yield from _within(f"processes[{at}]", _variables(process, variables(variant.spec)))


@dataclass(frozen=True)
class Violation:
    """A rule that a run breaks: the key in which file, and its value."""

    experiment: str
    rule: str
    severity: str
    run: str
    file: str
    where: str
    value: str


def describe(violations: list[Violation], records: int) -> str:
    """Return a line per violation, and one that counts them."""
    lines = [
        f"{violation.file}: {violation.rule} ({violation.severity}): {violation.where}: {violation.value}"
        for violation in violations
    ]
    count = Counter(violation.severity for violation in violations)
    counts = ", ".join(f"{count[severity]} {severity}" for severity in SEVERITIES)
    lines.append(f"{records} records, {len(table())} rules, {len(violations)} violations: {counts}")
    return "\n".join(lines)


def write(violations: list[Violation], path: Path) -> None:
    """Write the violations as CSV, one row each; only the header if there are none."""
    names = [field.name for field in fields(Violation)]
    with writing(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(violation) for violation in violations)


def by_run(violations: Iterable[Violation]) -> dict[str, list[Violation]]:
    """Group violations by run."""
    groups = defaultdict(list)
    for violation in violations:
        groups[violation.run].append(violation)
    return groups
