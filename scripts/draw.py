"""Draw the figures of an experiment, and write its tables, from tidy tables alone."""

from paragone.base.errors import UserError, entry_point
from paragone.base.processes import end_process
from paragone.base.typed_json import read_job
from paragone.reporting import figures, tables
from paragone.reporting.inputs import Drawing


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw and write what the job names, into the folders `figures` and `tables` of the results."""
    job: Drawing = read_job(Drawing, arguments)
    for kind, exhibits, write in (
        ("figures", job.figures, figures.write),
        ("tables", job.tables, tables.write),
    ):
        folder = job.results / kind / job.section
        for name, reads in exhibits.items():
            try:
                write(name, job.reading(reads), folder)
            except UserError as error:
                raise UserError(f"{name} of {job.section}: {error}") from None


if __name__ == "__main__":
    main()
    end_process()
