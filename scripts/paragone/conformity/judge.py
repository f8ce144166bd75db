"""The demands on one way of training, and what its short runs and the parity gate say of each."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paragone.analysis.compliance.checks import OF_ONE
from paragone.base.errors import UserError
from paragone.records.compliance.rules import INVALID, table
from paragone.records.run_record import RunRecord
from paragone.records.schemas import valid

# Rules of the record that another row is about.
_APART = ("parity", "first-steps", "first-steps-compared", "planned-epochs")


@dataclass(frozen=True)
class Row:
    """One demand: whether it holds (None: it could not be tried, or is not asked), and why in one line."""

    demand: str
    holds: bool | None
    reason: str


def judged(trials: list[Path], parity: Path) -> dict[tuple[str, str], list[Row]]:
    """The demands on each way of training, by workload and backend.

    trials: what scripts/try_way.py wrote, named <workload>.<backend>.json. parity: the folder of the parity
    gate's reports and probes. Raises `UserError` for a trial whose record is not valid.
    """
    ways = {}
    for path in trials:
        content = json.loads(path.read_text(encoding="utf-8"))
        workload, _, backend = path.stem.partition(".")
        ways[workload, backend] = {
            name: Run(name, **ended) for name, ended in content["runs"].items()
        }
    found = {}
    for (workload, backend), runs in ways.items():
        report = json.loads((parity / f"{workload}.json").read_text(encoding="utf-8"))
        counted = {
            other: each["whole"].flop
            for (name, other), each in ways.items()
            if name == workload and each["whole"].flop
        }
        probe, reference = (parity / workload / f"{name}.npz" for name in (backend, "reference"))
        found[workload, backend] = rows(
            runs, report["backends"][backend], probe, reference, counted
        )
    return found


def rows(
    runs: dict[str, "Run"],
    verdict: dict[str, Any],
    probe: Path,
    reference: Path,
    counted: dict[str, int],
) -> list[Row]:
    """All demands on one way of training, in the order in which one failure causes the next.

    runs: the short ones, by name. verdict: of the parity gate. probe, reference: what it compared.
    counted: FLOP of training on one example, by backend, of all ways that train the workload.
    """
    whole = runs["whole"]
    found = [_weights(probe, reference), _gate(verdict), _trains(whole)]
    if not whole.completed:
        return found
    return [
        *found,
        _first_steps(whole),
        _clocks(whole),
        _flop(whole, counted),
        _same(whole, runs["killed"]),
        _status(runs["diverging"], "a loss that is not finite", "diverged"),
        _status(runs["elsewhere"], "a device that is not here", "unavailable"),
        _mixed(runs["bfloat16"]),
    ]


class Run:
    """What became of a short run. Raises `UserError` for a record that is not valid."""

    def __init__(self, name: str, record: dict[str, Any] | None, says: str) -> None:
        self.says = says
        try:
            self.record = None if record is None else valid(RunRecord, record, "record")
        except ValueError as error:
            raise UserError(
                f"the record of the short run {name!r} is not valid: {error}"
            ) from error

    @property
    def ended(self) -> str:
        """The status with its reason, or the last line of a run without a record."""
        if self.record is None:
            return f"no record: {self.says}"
        return ": ".join(filter(None, (self.record.status, self.record.reason)))

    @property
    def flop(self) -> int | None:
        """FLOP of training on one example, if they were counted."""
        counted = self.record and self.record.efficiency
        return counted.train_flop_per_example if counted else None

    @property
    def completed(self) -> bool:
        """Whether it did all that was asked."""
        return self.record is not None and self.record.status == "completed"


def _weights(probe: Path, reference: Path) -> Row:
    demand = "weights as the reference"
    with np.load(probe) as found, np.load(reference) as expected:
        for arrays, whose in ((found, "its probe"), (expected, "the reference")):
            for key in ("unavailable", "failed"):
                if key in arrays:
                    return Row(demand, None, f"{whose} {key}: {arrays[key]}")
        shapes, wanted = _shapes(found), _shapes(expected)
        count = int(expected["parameters"])
    for name in sorted(shapes.keys() | wanted.keys()):
        if shapes.get(name) != wanted.get(name):
            one, other = (_shape(each.get(name)) for each in (shapes, wanted))
            return Row(demand, False, f"{name} is {one}, {other} of the reference")
    return Row(
        demand, True, f"{len(wanted)} arrays of the same shapes, {count:,} trainable parameters"
    )


def _shapes(arrays: Any) -> dict[str, tuple[int, ...]]:
    return {name: arrays[name].shape for name in arrays.files if name.startswith("initial/")}


def _shape(shape: tuple[int, ...] | None) -> str:
    return "not there" if shape is None else " x ".join(map(str, shape)) or "a number"


def _gate(verdict: dict[str, Any]) -> Row:
    return Row(
        "parity in double precision", verdict["passed"], verdict["reason"] or _margins(verdict)
    )


def _margins(verdict: dict[str, Any]) -> str:
    """The group that comes nearest to what is allowed."""
    found, allowed = verdict["deviations"], verdict["allowed"]
    nearest = max(found, key=lambda group: (found[group] or 0.0) / allowed[group])
    return f"nearest to a limit: {nearest} by {found[nearest]:.0e}, allowed {allowed[nearest]:.0e}"


def _trains(whole: Run) -> Row:
    record = whole.record
    if not whole.completed or record is None:
        return Row("trains", False, whole.ended)
    last = record.epochs[-1]
    return Row(
        "trains",
        True,
        f"{len(record.epochs)} epochs, training loss {last.train_loss:.3g} in the last",
    )


def _first_steps(whole: Run) -> Row:
    demand, steps = "parity in single precision", whole.record and whole.record.first_steps
    if not steps or steps.passed is None:
        return Row(
            demand,
            None,
            (steps and steps.reason) or "draws of the framework decide its first steps",
        )
    verdict = {"deviations": steps.deviations, "allowed": steps.allowed}
    return Row(demand, steps.passed, steps.reason or _margins(verdict))


def _clocks(whole: Run) -> Row:
    assert whole.record is not None
    broken = [
        f"{rule}: {finding.where} {finding.value}"
        for rule, check in OF_ONE.items()
        if table()[rule].severity == INVALID and rule not in _APART
        for finding in check(whole.record)
    ]
    says = "the parts add up to the life of the process, and no other rule is broken"
    return Row("clocks and record", not broken, "; ".join(broken) or says)


def _flop(whole: Run, counted: dict[str, int]) -> Row:
    if not whole.flop:
        return Row("FLOP", None, "not counted: no share of the peak is shown")
    others = [f"{count:,} on {name}" for name, count in counted.items() if count != whole.flop]
    says = f"{whole.flop:,} for training on one example"
    return Row("FLOP", not others, f"{says}; {', '.join(others)}" if others else says)


def _same(whole: Run, killed: Run) -> Row:
    demand = "deterministic, and goes on after a kill"
    one, other = whole.record, killed.record
    if one is None or other is None or one.model is None or other.model is None:
        return Row(demand, False, killed.ended)
    if len(other.processes) == len(one.processes):
        return Row(demand, False, "it began anew: it found no checkpoint")
    if one.model.final_weights != other.model.final_weights:
        return Row(demand, False, "other weights than the same run without a kill")
    metrics = [
        [
            (row.train_loss, row.train_accuracy, row.test_loss, row.test_accuracy)
            for row in record.epochs
        ]
        for record in (one, other)
    ]
    if metrics[0] != metrics[1]:
        return Row(demand, False, "the same weights, but other losses or accuracies")
    return Row(demand, True, f"the same weights, bit for bit, after {len(other.epochs)} epochs")


def _status(run: Run, what: str, expected: str) -> Row:
    demand = f"status of {what}"
    if run.completed:
        return Row(demand, None, "it completed: there was nothing to say")
    found = run.record is not None and run.record.status == expected
    return Row(demand, found, run.ended if found else f"{run.ended}; {expected} expected")


def _mixed(run: Run) -> Row:
    allowed = ("unavailable", "unsupported")
    if run.completed:
        return Row("bfloat16", True, "trains")
    declared = run.record is not None and run.record.status in allowed
    return Row("bfloat16", None if declared else False, run.ended)
