"""Write the profiles of all runs as one table, CSV and Markdown: a row per operation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import pandas as pd

from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.base.typed_json import Job, read, read_job
from step_profiles import ProfileRecord


class Tabulation(Job):
    """The records of profiles, and the tables to write."""

    profiles: list[Path]
    csv: Path
    markdown: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read the records and write the table."""
    job: Tabulation = read_job(Tabulation, arguments)
    profiles = [read(ProfileRecord, path, "profile") for path in job.profiles]
    table = pd.DataFrame([row for profile in profiles for row in rows(profile)])
    write_text(table.to_csv(index=False), job.csv)
    write_text(table.to_markdown(index=False, floatfmt=".3g") + "\n", job.markdown)


def rows(record: ProfileRecord) -> list[dict]:
    """A row per operation, or one that says why there is none."""
    profile = record.profile
    columns = {
        "workload": record.spec.workload.name,
        "backend": record.spec.backend.name,
        "replicas": record.spec.replicas,
        "global_batch": record.spec.global_batch,
        "step_milliseconds": profile and profile.alone_milliseconds,
        "under_profiler": profile and profile.profiled_milliseconds,
    }
    if profile is None:
        return [columns | {"operation": f"{record.status}: {record.reason}", "run": record.run}]
    return [
        columns
        | {
            "operation": operation.name,
            "share": operation.share,
            "milliseconds": operation.milliseconds,
            "calls": operation.calls,
            "run": record.run,
        }
        for operation in profile.operations
    ]


if __name__ == "__main__":
    main()
