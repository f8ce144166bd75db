"""The measurement rules as data, the rules that one record must obey, and violations of all rules.

rules/schemas/compliance.csv lists the rules with severity and limit. A function per rule yields what breaks
it: here those on one record, runs before contests, in `analysis.compliance` those on an experiment.
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from paragone.base.atomic_files import writing
from paragone.records import run_metrics
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, Window, variables
from paragone.records.run_metrics import end_to_end, examples, parts
from paragone.records.run_record import Epoch, Load, Process, RunRecord

TABLE = Path(__file__).parents[3] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median, and figures show its status instead of a value. no speed: losses and
# accuracies count, times do not. remark: the value counts and gets a footnote in figures and tables.
INVALID, NO_SPEED, REMARK = SEVERITIES = ("invalid", "no speed", "remark")
UNREADABLE = ("schema", "digest")  # the rules that a record breaks which cannot be read

Check = TypeVar("Check", bound=Callable[..., Iterator[Any]])
PartCheck = TypeVar("PartCheck", bound=Callable[..., Iterator["Finding"]])


@dataclass(frozen=True)
class Rule:
    """What must hold, the severity of a violation, the rule's source; `limit` if it has a number."""

    id: str
    severity: str
    limit: float | None
    source: str
    says: str


@dataclass(frozen=True)
class Finding:
    """What breaks a rule: the key in the record, and its value with the expected one."""

    where: str
    value: str

    def within(self, where: str) -> "Finding":
        """The finding with the key of the whole, whose part at `where` it was found in."""
        return Finding(f"{where}.{self.where}", self.value)


@cache
def table() -> dict[str, Rule]:
    """The rules by id, in the order of the file."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row["limit"] = float(row["limit"]) if row["limit"] else None
    return {row["id"]: Rule(**row) for row in rows}


def limit(rule: str) -> float:
    """The limit of a rule that has one; `KeyError` otherwise."""
    number = table()[rule].limit
    if number is None:
        raise KeyError(f"{TABLE.name}: rule {rule} has no limit")
    return number


class Checks(dict[str, Check]):
    """Rule id -> the function that checks it; filled by its own decorator."""

    def rule(self, name: str) -> Callable[[Check], Check]:
        """Register a function as the check of a rule of the table."""

        def register(check: Check) -> Check:
            self[name] = check
            return check

        return register

    def of_each(self, part: str, name: str) -> Callable[[PartCheck], PartCheck]:
        """Register a function as the check of each entry of a list; keys that it finds are those in it."""

        def register(check: PartCheck) -> PartCheck:
            def check_all(whole: Any) -> Iterator[Finding]:
                for at, each in enumerate(getattr(whole, part)):
                    for finding in check(whole, each):
                        yield finding.within(f"{part}[{at}]")

            self[name] = cast(Check, check_all)
            return check

        return register


OF_RECORD: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


@OF_RECORD.rule("clock-sum")
def clock_sum(record: RunRecord) -> Iterator[Finding]:
    """The process's own clock against the kernel's."""
    known, total = parts(record), end_to_end(record)
    if known is None:
        return
    if total is None:
        yield Finding("processes.age", "null, with clocks")
    elif abs(math.fsum(known.values()) - total) > limit("clock-sum"):
        wrong = f"{total:.3f} s by the kernel's clock, the parts add up to {math.fsum(known.values()):.3f} s"
        yield Finding("processes.age", wrong)


@OF_RECORD.rule("time-of-day")
def time_of_day(record: RunRecord) -> Iterator[Finding]:
    """The clock on the wall against the kernel's, and against the order of the processes."""
    times = [(entry.started, entry.ended) for entry in record.processes if entry.rank == 0]
    times_of_day = [time for pair in times for time in pair if time]
    if times_of_day != sorted(times_of_day):
        yield Finding("processes.started", f"not in order: {', '.join(times_of_day)}")
    for at, process in enumerate(record.processes):
        if process.ended and process.age is not None:
            begun, end = map(datetime.fromisoformat, (process.started, process.ended))
            apart = (end - begun).total_seconds()
            if abs(apart - process.age) > limit("time-of-day"):
                wrong = f"{apart:.3f} s after its start, its age was {process.age:.3f} s"
                yield Finding(f"processes[{at}].ended", wrong)


@OF_RECORD.rule("examples")
def enough_examples(record: RunRecord) -> Iterator[Finding]:
    """Find splits with fewer examples than the specification asks for."""
    if record.data is None:
        return
    workload, data = record.spec.workload, record.data
    asked = {"train_examples": workload.train_examples}
    asked["test_examples"] = workload.evaluation.first if workload.evaluation else None
    for key, count in asked.items():
        if count and count > getattr(data, key):
            yield Finding(f"data.{key}", f"{getattr(data, key)}, {count} were asked for")


@OF_RECORD.of_each("epochs", "accuracy")
def accuracy(record: RunRecord, row: Epoch) -> Iterator[Finding]:
    """Accuracies of examples with one class each are fractions of a whole number of them."""
    if record.data is None or record.data.positions:
        return
    counted = {"train": (row.train_accuracy, examples(record, row))}
    counted["test"] = row.test_accuracy, record.data.test_examples
    for split, (fraction, number) in counted.items():
        right = 0.0 if fraction is UNSET else fraction * number
        if abs(right - round(right)) > limit("accuracy"):
            wrong = f"{fraction} is {right:.3f} of {number} examples"
            yield Finding(f"{split}_accuracy", wrong)


@OF_RECORD.rule("weights")
def weights(record: RunRecord) -> Iterator[Finding]:
    """The weights changed."""
    model = record.model
    if record.epochs and model and model.final_weights == model.initial_weights:
        yield Finding("model.final_weights", f"{model.final_weights}, as before training")


@OF_RECORD.of_each("processes", "isolation")
def isolation(_: RunRecord, process: Process) -> Iterator[Finding]:
    """Others were idle, in the whole process."""
    share = run_metrics.share_of_others(process.load)
    if share is not None and share > limit("isolation"):
        yield Finding("load.life", f"others had {share:.3f} of the host's CPU time")


@OF_RECORD.of_each("processes", "throttling")
def throttling(_: RunRecord, process: Process) -> Iterator[Finding]:
    """No throttling by heat or a quota."""
    life = process.load.life
    if life and run_metrics.throttled(process.load):
        counts = (
            f"{life.heat_throttles or 0} times by heat, {life.quota_throttled or 0:g} s by a quota"
        )
        yield Finding("load", counts)


@OF_RECORD.of_each("processes", "epoch-clock")
def epoch_clock(record: RunRecord, process: Process) -> Iterator[Finding]:
    """The process's own clock against the kernel's, epoch by epoch."""
    first = process.first_epoch - 1
    rows = record.epochs[first : first + len(process.epochs)]
    if len(process.epochs) != len(rows):
        yield Finding("epochs", f"{len(process.epochs)}, the record has {len(rows)}")
    for number, (epoch, row) in enumerate(zip(process.epochs, rows, strict=False)):
        if abs(epoch.seconds - row.train_seconds) > limit("epoch-clock"):
            wrong = (
                f"{epoch.seconds:.3f} s by the kernel's clock, {row.train_seconds:.3f} s by its own"
            )
            yield Finding(f"epochs[{number}].seconds", wrong)


@OF_RECORD.of_each("processes", "clean-code")
def clean_code(_: RunRecord, process: Process) -> Iterator[Finding]:
    """A commit without local changes."""
    if process.git is None:
        yield Finding("git", "null: not a repository")
    elif process.git.dirty:
        yield Finding("git.dirty", f"true, on {process.git.commit}")


@OF_RECORD.rule("first-steps")
def first_steps(record: RunRecord) -> Iterator[Finding]:
    """What the steps changed."""
    if record.first_steps and record.first_steps.passed is False:
        yield Finding("first_steps", str(record.first_steps.reason))


@OF_RECORD.rule("first-steps-compared")
def first_steps_compared(record: RunRecord) -> Iterator[Finding]:
    """A verdict."""
    taken, dropout = record.first_steps, record.spec.workload.dropout
    if record.status == "completed" and not dropout and (taken is None or taken.passed is None):
        yield Finding("first_steps", str(taken.reason if taken else None))


@OF_RECORD.of_each("processes", "tuning")
def tuning(record: RunRecord, process: Process) -> Iterator[Finding]:
    """The variables that tune each process are those of the run's tuning."""
    if process.variables != (asked := record.spec.tuning.variables):
        yield Finding("variables", f"{process.variables}, the run's tuning has {asked}")


@OF_RECORD.of_each("processes", "environment")
def environment(_: RunRecord, process: Process) -> Iterator[Finding]:
    """No process was started without variables of its shell that would have mattered."""
    if process.removed_variables:
        yield Finding("removed_variables", ", ".join(process.removed_variables))


@OF_RECORD.of_each("processes", "modes")
def modes(record: RunRecord, process: Process) -> Iterator[Finding]:
    """Deterministic kernels where they are asked for, and no rounded float32, of every process."""
    found = process.modes
    if found is None:
        if record.status == "completed" and process is record.processes[-1]:
            yield Finding("modes", "null in a completed run")
        return
    if record.spec.deterministic and not found.deterministic:
        yield Finding("modes.deterministic", "false, deterministic kernels were asked for")
    if found.math_mode != "ieee":
        yield Finding("modes.math_mode", f"{found.math_mode}: float32 was rounded")


# Contests

OF_CONTEST: Checks[Callable[[Contest], Iterator[Finding]]] = Checks()
# Rules on runs that each variant of a contest must obey, too.
OF_CONTESTANT = ("environment", "modes", "first-steps", "first-steps-compared", "clean-code")


def of_contests(record: ContestsRecord) -> Iterator[tuple[str, Finding]]:
    """Each rule that contests break, and what breaks it."""
    for number, contest in enumerate(record.contests):
        where = f"contests[{number}]"
        for rule, check in OF_CONTEST.items():
            yield from ((rule, finding.within(where)) for finding in check(contest))
        for place, contestant in enumerate(contest.contestants):
            run = _as_run(contestant, record)
            where = f"contests[{number}].contestants[{place}]"
            for rule in OF_CONTESTANT:
                yield from ((rule, finding.within(where)) for finding in OF_RECORD[rule](run))


def broken_at(found: Iterable[tuple[str, Finding]], *places: str) -> list[str]:
    """The rules that are broken at these places, such as `contests[0].windows[3]`, or within them."""
    return sorted(
        {
            rule
            for rule, finding in found
            for at in places
            if f"{finding.where}.".startswith(f"{at}.")
        }
    )


def _as_run(contestant: Contestant, record: ContestsRecord) -> RunRecord:
    """What a variant has in common with a run."""
    return RunRecord(
        run=contestant.spec.name,
        status=contestant.status,
        reason=contestant.reason,
        spec=contestant.spec,
        data=record.data,
        model=contestant.model,
        devices=contestant.devices,
        first_steps=contestant.first_steps,
        processes=[replace(each, modes=contestant.modes) for each in contestant.processes],
    )


@OF_CONTEST.of_each("contestants", "tuning")
def contest_tuning(_: Contest, variant: Contestant) -> Iterator[Finding]:
    """The variables that tune each process are those of the variant's tuning, and what a shared GPU takes."""
    for rank, process in enumerate(variant.processes):
        if process.variables != (asked := variables(variant.spec)):
            wrong = f"{process.variables}, asked for are {asked}"
            yield Finding(f"processes[{rank}].variables", wrong)


@OF_CONTEST.of_each("windows", "asleep")
def asleep(_: Contest, window: Window) -> Iterator[Finding]:
    """Only the variant whose turn it is uses the machine."""
    if window.sleeping > limit("asleep") * window.whole:
        wrong = f"{window.sleeping:.4f} s of CPU time in {window.whole:.3f} s"
        yield Finding("sleeping", wrong)


@OF_CONTEST.of_each("contestants", "restored")
def restored(_: Contest, variant: Contestant) -> Iterator[Finding]:
    """What a variant learned in its windows is undone, so that all windows trained the same model."""
    if variant.status == "completed" and not variant.restored:
        yield Finding("restored", f"{variant.restored}")


@OF_CONTEST.rule("turns")
def turns(contest: Contest) -> Iterator[Finding]:
    """Windows by two clocks, within the time of the contest."""
    for place, window in enumerate(contest.windows):
        if window.whole > window.host.seconds + limit("turns"):
            wrong = f"{window.whole:.3f} s, {window.host.seconds:.3f} s by the kernel's clock"
            yield Finding(f"windows[{place}].seconds", wrong)
    spent = contest.ready_seconds + math.fsum(window.host.seconds for window in contest.windows)
    if spent > contest.seconds + limit("turns"):
        yield Finding("seconds", f"{contest.seconds:.3f}, its parts took {spent:.3f} s")


@OF_CONTEST.of_each("windows", "counted")
def contest_counted(contest: Contest, window: Window) -> Iterator[Finding]:
    """A turn has as many updates and batches as steps: one of its first epoch, one more of its second."""
    steps, spec = window.steps + 2, contest.contestants[window.contestant].spec
    if window.batches is not UNSET and window.batches != steps:
        yield Finding("batches", f"{window.batches} in {steps} steps")
    several = spec.workload.accumulated
    if window.updates is not UNSET and abs(window.updates * several - steps) >= several:
        yield Finding("updates", f"{window.updates} in {steps} steps")


@OF_CONTEST.rule("isolation")
def contest_isolation(contest: Contest) -> Iterator[Finding]:
    """Others were idle, over all windows together."""
    share = run_metrics.other_cpu_share([window.host for window in contest.windows])
    if share is not None and share > limit("isolation"):
        yield Finding("windows", f"others had {share:.3f} of the host's CPU time")


@OF_CONTEST.of_each("windows", "throttling")
def contest_throttling(_: Contest, window: Window) -> Iterator[Finding]:
    """No throttling by heat, power or a quota in any window."""
    if run_metrics.throttled(Load(before=0, life=window.host)):
        yield Finding("host", str(msgspec.to_builtins(window.host)))


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


def describe(found: list[Violation], records: int) -> str:
    """A line per violation, and one that counts them."""
    lines = [f"{one.file}: {one.rule} ({one.severity}): {one.where}: {one.value}" for one in found]
    count = Counter(one.severity for one in found)
    counts = ", ".join(f"{count[severity]} {severity}" for severity in SEVERITIES)
    lines.append(f"{records} records, {len(table())} rules, {len(found)} violations: {counts}")
    return "\n".join(lines)


def write(violations: list[Violation], path: Path) -> None:
    """Write the violations as CSV, one row each; only the header if there are none."""
    names = [field.name for field in fields(Violation)]
    with writing(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(one) for one in violations)


def by_run(violations: Iterable[Violation]) -> dict[str, list[Violation]]:
    """The violations of each run."""
    groups = defaultdict(list)
    for one in violations:
        groups[one.run].append(one)
    return groups
