"""All measurement rules on a folder of records: its experiments, and the rules that they break.

Rules on one record are in `records.compliance`. Those on the records of an experiment are here: a function
takes valid records and yields the run that breaks its rule, with what was found there; rules that values are
equal are in one table, `_EQUAL`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from paragone.analysis import tidy
from paragone.base.errors import UserError
from paragone.config import questions
from paragone.records import parity_reports
from paragone.records.compliance import (
    OF_RECORD,
    Checks,
    Finding,
    Violation,
    limit,
    of_contests,
    table,
)
from paragone.records.contest_record import ContestsRecord
from paragone.records.record import Changed, decoded
from paragone.records.run_record import RunRecord

OF_FILES = ("missing", "parity", "parity-failed")  # checked by `find` itself
ALONE = ""  # the name of the experiment of records that belong to none

Found = Iterator[tuple[str, Finding]]
OF_EXPERIMENT: Checks[Callable[[list[RunRecord]], Found]] = Checks()


# A folder of results


@dataclass
class Checked:
    """The records that can be read, of runs and of contests, in the order of their paths; what they break."""

    runs: list[RunRecord] = field(default_factory=list)
    contests: list[ContestsRecord] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


def find(
    paths: Iterable[Path], parity: Iterable[Path], experiments: dict[str, set[str]]
) -> Checked:
    """Read the records at `paths`, and find every violation, in the order of experiment, rule and run.

    `parity`: reports of the parity gate. `experiments`: the runs of each experiment. Records that belong to
    none are compared with those of the same protocol, by their specification.
    """
    checked, files, broken = _one_by_one(paths)
    verdicts = parity_reports.read_parity(parity)
    records = {record.run: record for record in checked.runs}
    for run, record in records.items():
        broken += [(rule, run, files[run], found) for rule, found in _unproven(record, verdicts)]
    groups = _groups(records, experiments)
    found = [
        (name, *violation)
        for violation in broken
        for name in [name for name, runs in groups.items() if violation[1] in runs] or [ALONE]
    ]
    for name, runs in groups.items():
        of_group = [records[run] for run in sorted(runs & records.keys())]
        for rule, check in OF_EXPERIMENT.items():
            found += [(name, rule, run, files[run], finding) for run, finding in check(of_group)]
        for run in runs - files.keys():
            finding = Finding("runs", f"no record of {run}")
            found.append((name, "missing", run, Path(f"runs/{run}/record.json"), finding))
    order = list(table())
    violations = {
        Violation(name, rule, table()[rule].severity, run, str(path), finding.where, finding.value)
        for name, rule, run, path, finding in found
    }
    checked.violations = sorted(
        violations,
        key=lambda each: (
            each.experiment,
            order.index(each.rule),
            each.run,
            each.where,
            each.value,
        ),
    )
    return checked


def in_folder(folder: Path) -> tuple[list[Path], list[Path], dict[str, set[str]]]:
    """What `find` checks below a folder of results: records, parity reports, experiments.

    Raises `UserError` if there is no record.
    """
    records = sorted(folder.rglob("record.json"))
    if not records:
        raise UserError(f"{folder}: no record.json below it; name the folder of results")
    known = {
        path.parent.name: set(frame["run"])
        for path in sorted(folder.glob("tables/*/runs.parquet"))
        if "experiment" in (frame := tidy.read(path))
    }
    return records, sorted(folder.glob("parity/*.json")), known


def _one_by_one(
    paths: Iterable[Path],
) -> tuple[Checked, dict[str, Path], list[tuple[str, str, Path, Finding]]]:
    """The records that can be read, the file of each run or question, and violations of the rules of single
    records: rule, run, file, finding."""
    checked, files, broken = Checked(), {}, []
    for path in paths:
        found: list[tuple[str, Finding]] = []
        try:
            made = decoded(path.read_bytes())
        except (OSError, ValueError) as error:
            name = path.parent.name
            rule = "digest" if isinstance(error, Changed) else "schema"
            found.append((rule, Finding("record", f"cannot be read: {error}")))
        else:
            if isinstance(made, RunRecord):
                checked.runs.append(made)
                name, folder = made.run, path.parent.name
                found += [(rule, each) for rule, check in OF_RECORD.items() for each in check(made)]
            else:
                checked.contests.append(made)
                name, folder = made.question, path.parent.name
                found += of_contests(made)
            if name != folder:
                found.append(("name", Finding("run", f"{name}, in the folder {folder}")))
        files[name] = path
        broken += [(rule, name, path, finding) for rule, finding in found]
    return checked, files, broken


def _unproven(record: RunRecord, verdicts: parity_reports.Parity) -> Found:
    """The rule, and what breaks it, unless the backend has passed the gate."""
    workload, backend = record.spec.workload.name, record.spec.backend.name
    if (workload, backend) not in verdicts:
        yield "parity", Finding("parity", f"no report on {workload} on {backend}")
    elif record.status not in ("unavailable", "unsupported"):
        if (passed := verdicts[workload, backend]) is False:
            yield "parity-failed", Finding("parity", f"{workload} on {backend}: failed")
        elif passed is None:
            wrong = f"{workload} on {backend}: the gate could not run the backend"
            yield "parity", Finding("parity", wrong)


def _groups(records: dict[str, RunRecord], experiments: dict[str, set[str]]) -> dict[str, set[str]]:
    """The runs to check together, by name of the experiment or protocol."""
    groups = {name: set(runs) for name, runs in experiments.items()}
    known = set().union(*groups.values())
    for run, record in records.items():
        if run not in known:
            groups.setdefault(_protocol(record), set()).add(run)
    return groups


def _protocol(record: RunRecord) -> str:
    """What all runs of one question share: a name in place of the experiment's."""
    spec = record.spec
    target = spec.workload.target
    goal = f", target {target.value:g}" if target else ""
    steps = f" of {spec.steps_per_epoch} steps" if spec.steps_per_epoch else ""
    return f"{spec.workload.name}, {spec.epochs} epochs{steps}{goal}"


# The records of an experiment together


@OF_EXPERIMENT.rule("seed-repeated")
def seed_repeated(records: list[RunRecord]) -> Found:
    """Distinct seeds within a cell."""
    for (_, seed), same in _grouped(records, lambda one: (_cell(one), one.spec.seed)).items():
        if len(same) > 1:
            finding = Finding("spec.seed", f"{seed}, in {len(same)} runs")
            yield from ((record.run, finding) for record in same)


@OF_EXPERIMENT.rule("seed-used")
def seed_used(records: list[RunRecord]) -> Found:
    """Distinct final weights within a cell."""
    weights = attrgetter("model.final_weights")
    trained = [record for record in records if record.model and weights(record)]
    for (_, digest), same in _grouped(trained, lambda one: (_cell(one), weights(one))).items():
        if len({record.spec.seed for record in same}) > 1:
            finding = Finding("model.final_weights", f"{digest}, with {len(same)} seeds")
            yield from ((record.run, finding) for record in same)


@OF_EXPERIMENT.rule("order")
def order(records: list[RunRecord]) -> Found:
    """No run begins after one of a later place in the same schedule."""
    starts = defaultdict(list)
    for record in records:
        if record.schedule and all(process.first_epoch == 1 for process in record.processes):
            same = record.processes[0].machine.host, record.schedule.of
            begun = datetime.fromisoformat(record.processes[0].started)
            starts[same].append((begun, record.schedule.place, record.run))
    for of_schedule in starts.values():
        latest, holder = 0, ""
        for _, place, run in sorted(of_schedule):
            if place < latest:
                yield run, Finding("schedule.place", f"{place}, begun after {latest}, {holder}")
            else:
                latest, holder = place, run


@OF_EXPERIMENT.rule("alone")
def alone(records: list[RunRecord]) -> Found:
    """No overlap on a host; of a killed process the last checkpoint is known and not the end."""
    windows = defaultdict(list)
    for record in records:
        for process in record.processes:
            if process.ended:
                begun, end = map(datetime.fromisoformat, (process.started, process.ended))
                windows[process.machine.host].append((begun, end, record.run))
    for of_host in windows.values():
        of_host.sort()
        _, last, holder = of_host[0]
        for begun, end, run in of_host[1:]:
            overlap = (last - begun).total_seconds()
            if run != holder and overlap > limit("alone"):
                yield run, Finding("processes[0].started", f"{overlap:.1f} s before {holder} ended")
            if end > last:
                last, holder = end, run


def _workload(record: RunRecord) -> str:
    return record.spec.workload.name


def _cell(record: RunRecord) -> Hashable:
    return questions.cell(record.spec)


def _grouped(
    records: Iterable[RunRecord], key: Callable[[Any], Hashable]
) -> dict[Any, list[RunRecord]]:
    groups = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return groups


def _threads_per_host(record: RunRecord) -> list[int]:
    ranks = defaultdict(set)  # per host; a resumed run has several processes per rank
    for process in record.processes:
        ranks[process.machine.host].add(process.rank)
    return sorted({each.threads * len(ranks[each.machine.host]) for each in record.processes})


def _joined(names: Iterable[str]) -> str:
    return "; ".join(sorted(set(names)))


def _machines(record: RunRecord) -> str:
    return _joined(process.machine.fingerprint for process in record.processes)


def _commits(record: RunRecord) -> str:
    return _joined(process.git.commit if process.git else "none" for process in record.processes)


def _software(record: RunRecord) -> str:
    pairs = (pair for process in record.processes for pair in process.software.items())
    return _joined(f"{name} {version}" for name, version in pairs)


def _experiment(record: RunRecord) -> None:
    """The key that all records have."""


# Rule, where, key and value: records of equal keys must have equal values. Threads are compared per host of
# the experiment, because workers on one host divide its cores.
_EQUAL: list[tuple[str, str, Callable[[Any], Hashable], Callable[[Any], object]]] = [
    (
        "initial-weights",
        "model.initial_weights",
        lambda record: (_workload(record), record.spec.seed, record.model.initializer),
        attrgetter("model.initial_weights"),
    ),
    ("parameters", "model.parameters", _workload, attrgetter("model.parameters")),
    (
        "same-data",
        "data.manifest_sha256",
        attrgetter("data.dataset", "data.source", "data.edition"),
        attrgetter("data.manifest_sha256"),
    ),
    (
        "same-data",
        "data.input_shape",
        attrgetter("data.manifest_sha256"),
        attrgetter("data.input_shape", "data.test_examples"),
    ),
    ("one-machine", "processes.machine", _experiment, _machines),
    (
        "one-edition",
        "data.edition",
        attrgetter("data.dataset"),
        lambda record: f"{record.data.source}, {record.data.edition}",
    ),
    ("one-setting", "processes.software", _cell, _software),
    ("one-setting", "processes.threads", _experiment, _threads_per_host),
    ("one-code", "processes.git.commit", _experiment, _commits),
]


def _odd_ones_out(rule: str, records: list[RunRecord]) -> Found:
    """The records whose value is not that of most records of the same key.

    Of equally frequent values that of the reference backend is right, or else that of the first run by name.
    """
    variant, reference = (
        attrgetter("spec.backend.engine", "spec.backend.strategy"),
        ("torch", "single"),
    )
    first = sorted(records, key=lambda record: (variant(record) != reference, record.run))
    for where, key, value in [row[1:] for row in _EQUAL if row[0] == rule]:
        part = where.split(".")[0]  # the model or the data may be null
        for same in _grouped((record for record in first if getattr(record, part)), key).values():
            values = {record.run: str(value(record)) for record in same}
            # Of equal counts `most_common` returns the first that was counted.
            right, count = Counter(values.values()).most_common(1)[0]
            for run, found in values.items():
                if found != right:
                    yield run, Finding(where, f"{found}, {count} other(s) have {right}")


OF_EXPERIMENT |= {rule: partial(_odd_ones_out, rule) for rule, *_ in _EQUAL}
