"""The measurement rules as data, and what breaks them: in one record, or in the records of an experiment.

rules/schemas/compliance.csv lists what a machine, a framework or a user can break, with severity and limit.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
from msgspec import UNSET

from paragone.config import questions
from paragone.config.run_spec import Spec
from paragone.records import run_metrics
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, Window, variables
from paragone.records.measurements import Parity
from paragone.records.run_metrics import end_to_end, examples, parts
from paragone.records.run_record import Activity, Epoch, FirstSteps, Modes, Process, RunRecord

TABLE = Path(__file__).parents[3] / "rules" / "schemas" / "compliance.csv"
# invalid: the run enters no median, and figures show its status instead of a value. no speed: losses and
# accuracies count, times do not. remark: the value counts and gets a footnote in figures and tables.
INVALID, NO_SPEED, REMARK = ("invalid", "no speed", "remark")


@dataclass(frozen=True)
class Breach:
    """What breaks a rule: the key in the record, and its value with the expected one."""

    rule: str
    where: str
    value: str


@dataclass(frozen=True)
class Violation(Breach):
    """What breaks a rule in which record of an experiment."""

    experiment: str
    run: str
    file: str

    @property
    def severity(self) -> str:
        """The severity of the rule."""
        return str(table().loc[self.rule, "severity"])


@cache
def table() -> pd.DataFrame:
    """Return the rules by id, in the order of the file; `limit` is NaN where a rule has no number."""
    return pd.read_csv(TABLE, index_col="id")


@cache
def limit(rule: str) -> float:
    """Return the limit of a rule that has one; raise `KeyError` otherwise."""
    return float(table()["limit"].dropna()[rule])


def of_run(record: RunRecord) -> Iterator[Breach]:
    """Yield what breaks the rules in the record of a run."""
    yield from _clocks(record)
    yield from _data(record)
    yield from _first_steps(record.first_steps, record.spec, record.status)
    for part, name in record.spec.workload.framework_names.items():
        key = {"optimizer": "update", "schedule": "rates"}[part]
        call = str(getattr(record.model, key, f"{name}("))
        if not call.startswith(f"{name}("):
            yield Breach("requested", f"model.{key}", f"{call}, {name} was asked for")
    for at, epoch in enumerate(record.epochs):
        yield from _within(f"epochs[{at}]", _epoch(record, epoch))
    for at, process in enumerate(record.processes):
        where = f"processes[{at}]"
        yield from _within(where, _started(process, record.spec, record.spec.tuning.variables))
        last = record.status == "completed" and process is record.processes[-1]
        if process.modes or last:
            yield from _within(where, _modes(process.modes, record.spec))
        share = run_metrics.other_cpu_share([process.life])
        if share is not None and share > limit("isolation"):
            text = f"others had {share:.3f} of the host's CPU time"
            yield Breach("isolation", f"{where}.life", text)
        yield from _within(where, _throttling("life", process.life))


def of_contests(record: ContestsRecord) -> Iterator[Breach]:
    """Yield what breaks the rules in the record of the contests of a question."""
    for number, contest in enumerate(record.contests):
        where = f"contests[{number}]"
        calm = [window for window in contest.windows if not is_disturbed(contest, window)]
        turns = Counter((window.round, window.contestant) for window in calm)
        for at, window in enumerate(contest.windows):
            yield from _within(f"{where}.windows[{at}]", _window(contest, window))
            if window in calm and (times := turns[window.round, window.contestant]) > 1:
                text = f"{times} windows of the variant in round {window.round}"
                yield Breach("once", f"{where}.windows[{at}].round", text)
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
    for epoch in record.epochs:
        # Of the host of rank 0, as the record's times.
        for host in run_metrics.of_epoch(record, epoch)[:1]:
            if abs(host.seconds - epoch.train_seconds) > limit("clock-epoch"):
                text = f"{epoch.train_seconds:.3f} s, {host.seconds:.3f} s by the kernel's clock"
                yield Breach("clock-epoch", f"epochs[{epoch.epoch - 1}].train_seconds", text)


def _data(record: RunRecord) -> Iterator[Breach]:
    """Find splits with fewer examples than the specification requests."""
    if record.data is None:
        return
    workload, data = record.spec.workload, record.data
    tested = workload.evaluation.first if workload.evaluation else 0
    used = data.train_examples + (data.validation_examples or 0)
    for key, count, there in (
        ("train_examples", workload.train_examples, used),
        ("test_examples", tested, data.test_examples),
    ):
        if count and count > there:
            text = f"{there}, {count} were asked for"
            yield Breach("examples", f"data.{key}", text)


def _first_steps(steps: FirstSteps | None, spec: Spec, status: str) -> Iterator[Breach]:
    """Judge the comparison of the first steps with those of the reference; dropout has none."""
    passed, reason = (steps.passed, str(steps.reason)) if steps else (None, "None")
    if passed is False:
        yield Breach("first-steps", "first_steps", reason)
    is_masked = (steps is not None and steps.masked is True) or spec.workload.dropout
    if passed is None and status == "completed" and not is_masked:
        yield Breach("first-steps-compared", "first_steps", reason)


def _epoch(record: RunRecord, epoch: Epoch) -> Iterator[Breach]:
    """Judge what an epoch has drawn, and what its metrics weigh; records of before do not say so."""
    data = record.data
    if data is None or epoch.batches is UNSET or epoch.updates is UNSET:
        return
    yield from _counted(epoch.batches, epoch.updates, epoch.steps, record.spec)
    expected: dict[str, float] = {"train_examples": examples(record, epoch)}
    for split in record.spec.workload.evaluated:
        expected[f"{split}_examples"] = getattr(data, f"{split}_examples")
        labels = getattr(data, f"{split}_labels")
        if getattr(epoch, f"{split}_labels") is not UNSET and labels is not UNSET:
            expected[f"{split}_labels"] = labels[(epoch.epoch - 1) % len(labels)]
    for key, value in expected.items():
        if getattr(epoch, key) != value:
            yield Breach("weighed", key, f"{getattr(epoch, key)}, the split has {value}")


def _counted(batches: int, updates: int, steps: int, spec: Spec) -> Iterator[Breach]:
    """Compare counts with the steps of the protocol; an update may take several batches."""
    several = spec.workload.accumulated
    if batches != steps:
        yield Breach("counted", "batches", f"{batches} in {steps} steps")
    if abs(updates * several - steps) >= several:
        yield Breach("counted", "updates", f"{updates} in {steps} steps")


def _started(process: Process, spec: Spec, requested: dict[str, str]) -> Iterator[Breach]:
    """Judge what a process was started with: the shell, the code, the variables that tune it (`requested`),
    and the packages, which are unknown where no worker was started."""
    if process.removed_variables:
        yield Breach("environment", "removed_variables", ", ".join(process.removed_variables))
    if process.git is None:
        yield Breach("clean-code", "git", "null: not a repository")
    elif process.git.dirty:
        yield Breach("clean-code", "git.dirty", f"true, on {process.git.commit}")
    if process.variables != requested:
        text = f"{process.variables}, the run's tuning has {requested}"
        yield Breach("requested", "variables", text)
    differing = spec.backend.differing(process.software) if process.software else {}
    for package, text in differing.items():
        yield Breach("requested", f"software.{package}", text)


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


def _throttling(where: str, life: Activity | None) -> Iterator[Breach]:
    """Find cores that heat or a quota slowed."""
    if life and run_metrics.throttled(life):
        heat, quota = life.heat_throttles or 0, life.quota_throttled or 0
        yield Breach("throttling", where, f"{heat} times by heat, {quota:g} s by a quota")


def _window(contest: Contest, window: Window) -> Iterator[Breach]:
    """Judge a turn: the variants that wait sleep, and updates and batches are as many as its steps.

    A turn has one step in its first epoch, and one more than `steps` in its second.
    """
    whole = window.first + window.seconds
    if window.sleeping > limit("asleep") * whole:
        text = f"{window.sleeping:.4f} s of CPU time in {whole:.3f} s"
        yield Breach("asleep", "sleeping", text)
    spec = contest.contestants[window.contestant].spec
    yield from _counted(window.batches, window.updates, window.steps + 2, spec)
    yield from _throttling("host", window.host)
    if is_disturbed(contest, window):
        share = run_metrics.other_cpu_share([window.host])
        yield Breach("calm", "host", f"others had {share:.3f} of the host's CPU time")


def is_disturbed(contest: Contest, window: Window) -> bool:
    """Return whether others had more of the host in a window than its contest allows."""
    return contest.load is not UNSET and run_metrics.is_disturbed(window.host, contest.load)


def _contestant(variant: Contestant) -> Iterator[Breach]:
    """Judge a variant of a contest: its first steps, its modes, and what it was started with."""
    yield from _first_steps(variant.first_steps, variant.spec, variant.status)
    if variant.modes or variant.status == "completed":
        yield from _modes(variant.modes, variant.spec)
    for at, process in enumerate(variant.processes):
        started = _started(process, variant.spec, variables(variant.spec))
        yield from _within(f"processes[{at}]", started)


def _unproven(record: RunRecord, verdicts: Parity) -> Iterator[Breach]:
    """Yield what is missing if the backend has not passed the parity gate."""
    workload, backend = record.spec.workload.name, record.spec.backend.name
    if (workload, backend) not in verdicts:
        yield Breach("parity", "parity", f"no report on {workload} on {backend}")
    elif record.status not in ("unavailable", "unsupported"):
        if (passed := verdicts[workload, backend]) is False:
            yield Breach(
                "parity-failed", "parity", f"{workload} on {backend}: {record.reason or 'failed'}"
            )
        elif record.status == "refused":
            text = f"{workload} on {backend}: passed since; delete the record and run again"
            yield Breach("parity", "status", text)
        elif passed is None:
            text = f"{workload} on {backend}: the gate could not run the backend"
            yield Breach("parity", "parity", text)


# The records of an experiment together


def _threads_per_host(record: RunRecord) -> str:
    """Return the threads of all workers of a host, which divide its cores."""
    ranks = defaultdict(set)  # per host; a resumed run has several processes per rank
    for process in record.processes:
        ranks[process.machine.host].add(process.rank)
    counts = {process.threads * len(ranks[process.machine.host]) for process in record.processes}
    return "; ".join(map(str, sorted(counts)))


def _joined(names: Callable[[Process], Iterable[str]]) -> Callable[[RunRecord], str]:
    """Return a function of a record that joins what each of its processes names."""
    return lambda record: "; ".join(
        sorted({name for process in record.processes for name in names(process)})
    )


_machines = _joined(lambda process: [f"{process.machine.host} [{process.machine.fingerprint[:6]}]"])
_commits = _joined(lambda process: [process.git.commit if process.git else "none"])
_software = _joined(lambda process: map(" ".join, process.software.items()))


# Rule, where, key and value: records of equal keys must have equal values. All records have the key None.
_EQUAL: list[tuple[str, str, Callable[[Any], Hashable], Callable[[Any], object]]] = [
    (
        "same-data",
        "data.manifest_sha256",
        attrgetter("data.dataset", "data.source", "data.edition"),
        attrgetter("data.manifest_sha256"),
    ),
    ("mixed", "processes.machine", lambda _: None, _machines),
    (
        "mixed",
        "data.edition",
        attrgetter("data.dataset"),
        lambda record: f"{record.data.source}, {record.data.edition}",
    ),
    ("mixed", "processes.software", lambda record: questions.cell(record.spec), _software),
    ("mixed", "processes.threads", lambda _: None, _threads_per_host),
    ("mixed", "processes.git.commit", lambda _: None, _commits),
]


def _odd_ones_out(runs: Mapping[Path, RunRecord]) -> Iterator[tuple[Path, Breach]]:
    """Yield the records whose value is not that of most records of the same key, by their paths.

    Of equally frequent values that of the first run by name is right.
    """
    for rule, where, key, value in _EQUAL:
        groups: dict[Hashable, dict[Path, str]] = defaultdict(dict)
        for path, record in sorted(runs.items(), key=lambda item: item[1].run):
            if getattr(record, where.split(".")[0]):  # a run may have no data
                groups[key(record)][path] = str(value(record))
        for values in groups.values():
            # Of equal counts `most_common` returns the first that was counted.
            right, count = Counter(values.values()).most_common(1)[0]
            for path, text in values.items():
                if text != right:
                    unlike = f"{_beyond(right, text)}, {count} other(s) have {_beyond(text, right)}"
                    yield path, Breach(rule, where, unlike)


def _beyond(common: str, text: str) -> str:
    """Return the parts of a text that another one has not: of all packages those of other versions."""
    return "; ".join(part for part in text.split("; ") if part not in common.split("; ")) or "none"


def _paces(
    runs: Mapping[Path, RunRecord], contests: Mapping[Path, ContestsRecord]
) -> Iterator[tuple[Path, Breach]]:
    """Compare the epochs of runs with the windows of their cell: what takes longer times more than steps."""
    for path, record in contests.items():
        windows = [(contest, window) for contest in record.contests for window in contest.windows]
        calm = [window for contest, window in windows if not is_disturbed(contest, window)]
        for index, variant in enumerate(record.contests[0].contestants):
            of_variant = [window for window in calm if window.contestant == index]
            for file, run in runs.items():
                is_of_cell = questions.cell(run.spec) == questions.cell(variant.spec)
                ratio = _pace(run, of_variant) if is_of_cell else 1.0
                if ratio > limit("pace"):
                    text = f"{ratio:.1f} times what windows of contests take"
                    yield file, Breach("pace", "epochs.train_seconds", text)
                elif ratio < 1 / limit("pace"):
                    text = f"windows take {1 / ratio:.1f} times what epochs of {run.run} take"
                    for number in range(len(record.contests)):
                        yield path, Breach("pace", f"contests[{number}].contestants[{index}]", text)


def _pace(run: RunRecord, windows: list[Window]) -> float:
    """Return how often an epoch takes what windows take for as many steps; 1 where either is missing."""
    epochs = [epoch for epoch in run.epochs if not run_metrics.first_of_process(run, epoch)]
    if not (epochs and windows):
        return 1.0
    first, steps = median(window.first for window in windows), epochs[0].steps - 1
    step = median((window.seconds - window.first) / window.steps for window in windows)
    return median(epoch.train_seconds for epoch in epochs) / (first + steps * max(step, 0.0))


def find(
    experiment: str,
    runs: Mapping[Path, RunRecord],
    contests: Mapping[Path, ContestsRecord],
    parity: Parity,
) -> list[Violation]:
    """Return every violation in the records of an experiment, by their paths, in the order of the rules.

    `parity`: by workload and backend, as the gate judged them.
    """
    pairs = [*_odd_ones_out(runs), *_paces(runs, contests)]
    for path, run in runs.items():
        pairs += [(path, breach) for breach in (*of_run(run), *_unproven(run, parity))]
    pairs += [(path, breach) for path, record in contests.items() for breach in of_contests(record)]
    broken = [
        Violation(**vars(breach), experiment=experiment, run=path.parent.name, file=str(path))
        for path, breach in pairs
    ]
    order = [*table().index]
    return sorted(broken, key=lambda row: (order.index(row.rule), row.run, row.where, row.value))
