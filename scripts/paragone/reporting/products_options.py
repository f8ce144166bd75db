"""Command-line options of the comparisons that read the table of products."""

import argparse
from pathlib import Path

from paragone.reporting.options import table_parser


def comparison_parser(description: str | None) -> argparse.ArgumentParser:
    """The table, the published numbers and the three files to write."""
    parser = table_parser(description, published=True)
    parser.add_argument("--flaws", type=Path, required=True, help="known flaws of the sources, CSV")
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    return parser
