"""Write one table as CSV, Markdown, LaTeX and JSON."""

import argparse
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.reporting import inputs, markup, tables


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Make the table from its inputs and write the four files."""
    parser = argparse.ArgumentParser(description=__doc__)
    inputs.add_options(parser)
    for kind in ("csv", "markdown", "latex", "cells"):
        parser.add_argument(f"--{kind}", type=Path, required=True, help="file to write")
    options = parser.parse_args(arguments)
    table = tables.load(options.name)(inputs.from_options(options))
    markup.write(table, options.csv, options.markdown, options.latex, options.cells)


if __name__ == "__main__":
    main()
