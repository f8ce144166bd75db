"""Write one table as CSV, Markdown and JSON."""

import argparse
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.reporting import inputs, markup, tables


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Make the table from its inputs and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    inputs.add_options(parser)
    parser.add_argument(
        "--output",
        type=Path,
        nargs="+",
        required=True,
        metavar="table.csv",
        help="one file per format: .csv .md .json",
    )
    options = parser.parse_args(arguments)
    markup.write(tables.load(options.name)(inputs.from_options(options)), options.output)


if __name__ == "__main__":
    main()
