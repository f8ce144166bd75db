"""The parity report of a workload: the verdict on each backend's probe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paragone.parity.compare import Observation, compare


@dataclass(frozen=True)
class NoObservation:
    """A probe without arrays; `passed`: None where the backend is not available, False if it failed."""

    passed: bool | None
    reason: str


def report(workload: str, reference: Path, probes: list[Path]) -> dict[str, Any]:
    """The content of parity.json; the name of a probe's file is its backend."""
    expected = read(reference)
    return {
        "workload": workload,
        "backends": {probe.stem: judge(read(probe), expected) for probe in probes},
    }


def judge(found: Observation | NoObservation, reference: Observation | NoObservation) -> dict:
    """One backend's verdict; `passed` is null where it is not available."""
    if isinstance(found, NoObservation):
        return _without(found.passed, found.reason)
    if isinstance(reference, NoObservation):
        reason = f"nothing to compare with; reference: {reference.reason}"
        return _without(False, reason)
    return compare(found, reference)


def _without(passed: bool | None, reason: str) -> dict:
    return {"passed": passed, "reason": reason, "deviations": {}, "allowed": {}}


def read(path: Path) -> Observation | NoObservation:
    """What `observe.write` wrote."""
    with np.load(path) as arrays:
        if "unavailable" in arrays:
            return NoObservation(None, str(arrays["unavailable"]))
        if "failed" in arrays:
            return NoObservation(False, f"the probe failed: {arrays['failed']}")
        return Observation.of(dict(arrays))
