"""Judge the backends of one workload by the parity gate."""

from pathlib import Path

from paragone.base.errors import entry_point
from paragone.base.typed_json import Job, read_job, write
from paragone.parity.compare import report

VERDICTS = {True: "in parity", False: "NOT in parity", None: "not available"}


class Gate(Job, kw_only=True):
    """The backends of a workload. `probes`: <backend>.npz, the reference's first."""

    workload: str
    probes: list[Path]
    report: Path


@entry_point
def main() -> None:
    """Run the program."""
    job: Gate = read_job(Gate)
    result = report(job.workload, job.probes[0], job.probes[1:])
    for backend, verdict in result.backends.items():
        print(f"[{result.workload} {backend}] {VERDICTS[verdict.passed]}", verdict.reason or "")
    for notice in dict.fromkeys(n for v in result.backends.values() for n in v.notices):
        print(f"notice: {result.workload}: {notice}")
    write(result, job.report)


if __name__ == "__main__":
    main()
