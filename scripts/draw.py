"""Draw the figures of an experiment, write its tables, and print its answer, from tidy tables alone."""

from paragone.base.errors import UserError, entry_point
from paragone.base.processes import end_process
from paragone.base.typed_json import read_job
from paragone.reporting import figures, tables
from paragone.reporting.answers import from_tables, in_one_line
from paragone.reporting.inputs import Drawing


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw and write what the job names, into the folders `figures` and `tables` of the results.

    What the tables say is printed in one line.
    """
    job: Drawing = read_job(Drawing, arguments)
    for kind, room in (("figures", figures), ("tables", tables)):
        folder = job.results / kind / job.section
        for name, reads in getattr(job, kind).items():
            try:
                room.write(name, job.reading(reads), folder)
            except UserError as error:
                raise UserError(f"{name} of {job.section}: {error}") from None
    folder = job.results / "tables" / job.section
    read = [*job.files.get("runs", []), *job.files.get("rounds", [])]
    written = [folder / f"{name}.{end}" for name in job.tables for end in ("csv", "json")]
    shown = {job.section: job.title}, [*read, *written], job.labels, job.baseline
    if line := in_one_line(job.title, from_tables(*shown)):
        print(line)


if __name__ == "__main__":
    main()
    end_process()
