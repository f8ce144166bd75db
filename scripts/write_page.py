"""Write the result page: one HTML file with the answers, figures, tables and runs, from records alone."""

import argparse
from pathlib import Path

from paragone.analysis import answers, tidy
from paragone.base.errors import entry_point
from paragone.reporting import exhibits, facts
from paragone.reporting.inputs import pair
from paragone.reporting.page import runs, write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read what results hold and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    exhibits.add_options(parser)
    parser.add_argument(
        "--logs", type=Path, required=True, help="folder of <run>.log; may be empty"
    )
    for name, form in (("labels", "backend=Label"), ("palette", "backend=#hex")):
        parser.add_argument(f"--{name}", type=pair, nargs="*", default=[], metavar=form)
    parser.add_argument("--output", type=Path, required=True, help="index.html to write")
    options = parser.parse_args(arguments)
    palette = dict(options.palette)
    table = tidy.read(options.runs)
    readable = table.loc[table["status"] != "unreadable", "run"]
    page = write.Page(
        answers=answers.read(options.answers),
        sections=exhibits.read_all(options),
        runs=[runs.read(options.results, run, options.logs) for run in sorted(readable)],
        table=table,
        colors={label: palette[backend] for backend, label in options.labels},
        facts=facts.facts(table, options.preset),
        synthetic=facts.synthetic(table),
        method=exhibits.caption(options.captions / "page.rst"),
    )
    write.write(page, options.output)


if __name__ == "__main__":
    main()
