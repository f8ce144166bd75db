"""Draw the figures of an experiment, and write its tables, from tidy tables alone."""

import argparse
from pathlib import Path

from msgspec.json import Decoder

from paragone.base.errors import UserError, entry_point
from paragone.base.processes import end_process
from paragone.reporting import figures, tables
from paragone.reporting.inputs import Job


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw and write what the job names, into the folders `figures` and `tables` of the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", type=Decoder(Job).decode, help="what to draw and write, JSON")
    parser.add_argument("--results", type=Path, required=True, help="folder of the tidy tables")
    options = parser.parse_args(arguments)
    job: Job = options.job
    for kind, exhibits, write in (
        ("figures", job.figures, figures.write),
        ("tables", job.tables, tables.write),
    ):
        folder = options.results / kind / job.section
        for name, reads in exhibits.items():
            try:
                write(name, job.inputs(options.results, reads), folder)
            except UserError as error:
                raise UserError(f"{name} of {job.section}: {error}") from None


if __name__ == "__main__":
    main()
    end_process()
