"""Write all results as one file, from records alone: the page (.html), or a typeset paper (.pdf)."""

from paragone.base.errors import entry_point
from paragone.base.typed_json import read_job
from paragone.reporting import page, paper
from paragone.reporting.page import PageJob


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read the results and write the file."""
    job: PageJob = read_job(PageJob, arguments)
    write = paper.write if job.page.suffix == ".pdf" else page.write
    write(job)


if __name__ == "__main__":
    main()
