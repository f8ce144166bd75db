"""Parity reports, read back: which backend passed the parity gate for which workload."""

import json
from pathlib import Path

from paragone.base.errors import UserError

Parity = dict[tuple[str, str], bool]  # (workload, backend) -> passed


def read_parity(paths: list[Path]) -> Parity:
    """(workload, backend) -> passed, of the given parity reports. Raises `UserError`."""
    verdicts: Parity = {}
    for path in paths:
        workload, of_backends = read_verdicts(path)
        for backend, passed in of_backends.items():
            if passed is not None:  # the backend could run
                verdicts[workload, backend] = passed
    return verdicts


def read_verdicts(path: Path) -> tuple[str, dict[str, bool | None]]:
    """The workload of a parity report, and backend -> passed: None where it could not run.

    Raises `UserError` if the file is not a parity report.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        verdicts = {name: verdict["passed"] for name, verdict in report["backends"].items()}
        if not isinstance(report["workload"], str):
            raise TypeError("its workload is no name")
        return report["workload"], {
            name: None if passed is None else bool(passed) for name, passed in verdicts.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: not a parity report ({error!r}); delete it and make it again"
        ) from None
