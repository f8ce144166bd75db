"""Command-line options of the comparisons that read the table of products."""

import argparse
from pathlib import Path


def comparison_parser(description: str | None) -> argparse.ArgumentParser:
    """The table, the published numbers and the three files to write."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=Path, required=True, help="matmul.parquet")
    parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--flaws", type=Path, required=True, help="known flaws of the sources, CSV")
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    parser.add_argument("--title", required=True)
    for suffix in ("csv", "markdown", "latex"):
        parser.add_argument(f"--{suffix}", type=Path, required=True)
    return parser
