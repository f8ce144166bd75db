"""The rules on a run's first steps beside those of the parity gate's reference."""

from collections.abc import Callable, Iterator

from paragone.records.compliance.rules import Checks, Finding
from paragone.records.run_record import RunRecord

CHECKS: Checks[Callable[[RunRecord], Iterator[Finding]]] = Checks()


@CHECKS.rule("first-steps")
def first_steps(record: RunRecord) -> Iterator[Finding]:
    """What the steps changed."""
    if record.first_steps and record.first_steps.passed is False:
        yield Finding("first_steps", str(record.first_steps.reason))


@CHECKS.rule("first-steps-compared")
def first_steps_compared(record: RunRecord) -> Iterator[Finding]:
    """A verdict."""
    taken, dropout = record.first_steps, record.spec.workload.dropout
    if record.status == "completed" and not dropout and (taken is None or taken.passed is None):
        yield Finding("first_steps", str(taken.reason if taken else None))
