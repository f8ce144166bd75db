"""Write all results as one file, from records alone: the page (.html), or a typeset paper (.pdf)."""

import argparse
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.base.processes import IN_FILE
from paragone.reporting import exhibits, page, paper


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read the results and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    exhibits.add_options(parser)
    page.add_options(parser)
    parser.add_argument(
        "--papers", type=Path, nargs="*", default=[], help="folders of those that it cites"
    )
    parser.add_argument("--output", type=Path, required=True, help="index.html or paper.pdf")
    options = parser.parse_args(arguments)
    if options.output.suffix == ".pdf":
        paper.write(options)
    else:
        page.write(options)


if __name__ == "__main__":
    main()
