"""Write the result page: one HTML file with the answers, figures, tables and runs, from records alone."""

import argparse
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.reporting import exhibits, facts, results
from paragone.reporting.inputs import pair
from paragone.reporting.page import runs, write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read what results hold and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    results.add_options(parser)
    parser.add_argument(
        "--so-far",
        action="store_true",
        help="of a workflow that still runs: show the sections that are finished",
    )
    parser.add_argument(
        "--logs", type=Path, required=True, help="folder of <run>.log; may be empty"
    )
    for name, form in (("labels", "backend=Label"), ("palette", "backend=#hex")):
        parser.add_argument(f"--{name}", type=pair, nargs="*", default=[], metavar=form)
    parser.add_argument("--output", type=Path, required=True, help="index.html to write")
    options = parser.parse_args(arguments)
    palette = dict(options.palette)
    found = results.read_so_far(options) if options.so_far else results.read(options)
    readable = found.table.loc[found.table["status"] != "unreadable", "run"]
    page = write.Page(
        results=found,
        runs=[runs.read(options.results, run, options.logs) for run in sorted(readable)],
        labels=dict(options.labels),
        colors={label: palette[backend] for backend, label in options.labels},
        facts=facts.facts(found.table, options.preset),
        synthetic=facts.synthetic(found.table),
        method=exhibits.caption(options.captions / "page.rst"),
    )
    write.write(page, options.output)


if __name__ == "__main__":
    main()
