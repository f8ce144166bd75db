"""What page and paper are made of: the answers, sections and runs of results, finished or not."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis import tidy
from paragone.base.errors import UserError
from paragone.reporting import answers, exhibits


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that page and paper share."""
    parser.add_argument(
        "--results", type=Path, required=True, help="of answers, figures, tables and runs"
    )
    parser.add_argument(
        "--outline",
        type=json.loads,
        required=True,
        help="sections in order, JSON: name, title, and the labels of figures and tables by name",
    )
    parser.add_argument("--captions", type=Path, required=True, help="rules/report/")
    parser.add_argument(
        "--left-out", action="append", default=[], help="sentence on what was not asked for"
    )
    parser.add_argument("--preset", default="", help="what the config was overlaid with")


@dataclass(frozen=True)
class Results:
    """`table`: one row per run; `to_come`: the titles of the sections that are not finished."""

    answers: list[answers.Section]
    sections: list[exhibits.Section]
    table: pd.DataFrame
    to_come: list[str]


def read(options: argparse.Namespace) -> Results:
    """What a finished workflow left. Raises `UserError` if one of its files is missing."""
    folder: Path = options.results
    return Results(
        answers.read(folder / "answers.csv"),
        [exhibits.read(one, folder, options.captions) for one in options.outline],
        tidy.read(folder / "tables/runs.parquet"),
        [],
    )


def read_so_far(options: argparse.Namespace) -> Results:
    """What an unfinished one has: the sections all of whose files are there, and the answers of their tables.

    Raises `UserError` if no experiment is among them.
    """
    folder: Path = options.results
    finished = [one for one in options.outline if _is_finished(one, folder)]
    runs = {
        one["title"]: path
        for one in finished
        if (path := folder / "tables" / one["name"] / "runs.parquet").exists()
    }
    if not runs:
        raise UserError(f"{folder}: no experiment is finished yet")

    def tables(name: str) -> list[Path]:
        return [
            folder / "tables" / one["name"] / f"{name}.csv"
            for one in finished
            if name in one["tables"]
        ]

    return Results(
        answers.from_tables(
            list(runs),
            list(runs.values()),
            differences=tables("differences"),
            comparisons=tables("comparison"),
            left_out=options.left_out,
        ),
        [exhibits.read(one, folder, options.captions) for one in finished],
        tidy.merge([tidy.read(path) for path in runs.values()]),
        [one["title"] for one in options.outline if one not in finished],
    )


def _is_finished(outline: dict[str, Any], folder: Path) -> bool:
    suffixes = {"figures": ("svg", "csv"), "tables": ("json", "csv")}
    return all(
        (folder / kind / outline["name"] / f"{name}.{suffix}").exists()
        for kind, all_of_kind in suffixes.items()
        for name in outline[kind]
        for suffix in all_of_kind
    )
