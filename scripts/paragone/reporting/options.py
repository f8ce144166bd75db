"""Command-line options that the programs after the records share."""

import argparse
from pathlib import Path

from paragone.base.errors import UserError


def pairs(texts: list[str]) -> dict[str, str]:
    """`["a=b", ...]` as a dictionary. Raises UserError for a text without `=`."""
    for text in texts:
        if "=" not in text:
            raise UserError(f"{text!r} is not of the form name=value")
    return dict(text.split("=", 1) for text in texts)


def figure_parser(
    description: str | None, *, epochs: bool = False, several: bool = False
) -> argparse.ArgumentParser:
    """The options of every figure program; `epochs` adds the table of epochs, `several` takes the
    runs of more than one experiment."""
    parser = argparse.ArgumentParser(description=description)
    runs = parser.add_argument("--runs", type=Path, required=True, help="runs.parquet")
    runs.nargs = "+" if several else None
    if epochs:
        parser.add_argument("--epochs", type=Path, required=True, help="epochs.parquet")
    parser.add_argument("--palette", nargs="*", default=[], metavar="backend=#hex")
    parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    parser.add_argument("--title", required=True)
    parser.add_argument(
        "--output",
        type=Path,
        nargs="+",
        required=True,
        metavar="figure.svg",
        help="one file a format: .svg .pdf .png",
    )
    parser.add_argument(
        "--sidecar",
        type=Path,
        required=True,
        help="CSV file to write: what is drawn, with run names, n and interval",
    )
    return parser


def table_parser(
    description: str | None, *, runs: bool = True, published: bool = False
) -> argparse.ArgumentParser:
    """The options of every program that writes a table in three formats.

    `runs`: it shows runs under their backends' labels; `published`: beside published values.
    """
    parser = argparse.ArgumentParser(description=description)
    if runs:
        parser.add_argument("--runs", type=Path, required=True, help="runs.parquet")
        parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    if published:
        parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--title", required=True)
    for suffix in ("csv", "markdown", "latex"):
        parser.add_argument(f"--{suffix}", type=Path, required=True, help="to write")
    return parser
