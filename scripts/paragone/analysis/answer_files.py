"""Answers and files: made from the files of tables, stored in one, and read again."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.answers import Answer, Section, Tables, answers
from paragone.base.errors import UserError


def answers_of(
    titles: Sequence[str],
    runs: Sequence[Path],
    differences: Sequence[Path],
    comparisons: Sequence[Path],
    left_out: Sequence[str] = (),
) -> list[Section]:
    """`titles` and `runs`: one per experiment, in order; of the other tables those that there are.

    `left_out`: what was not asked for, in sentences. Raises `UserError` if one is no table.
    """
    pairs = {path.parent: _read(path) for path in differences}
    published = {path.parent: _read(path) for path in comparisons}
    empty = pd.DataFrame()
    experiments = [
        Tables(
            path.parent.name,
            title,
            tidy.read(path),
            pairs.get(path.parent, empty),
            published.get(path.parent, empty),
        )
        for title, path in zip(titles, runs, strict=True)
    ]
    return answers(experiments, left_out)


def to_frame(sections: list[Section]) -> pd.DataFrame:
    """One row per answer; `runs`: names separated by spaces, as in all tables."""
    rows = [
        {"question": section.heading, **vars(one), "runs": " ".join(one.runs)}
        for section in sections
        for one in section.answers
    ]
    return pd.DataFrame(rows)


def from_frame(table: pd.DataFrame) -> list[Section]:
    """The sections of a table that `to_frame` made."""
    return [
        Section(
            str(heading),
            [
                Answer(**{**row, "runs": tuple(row["runs"].split())})
                for row in part.drop(columns="question").fillna("").to_dict("records")
            ],
        )
        for heading, part in table.groupby("question", sort=False)
    ]


def read(path: Path) -> list[Section]:
    """The sections in a CSV file of `to_frame`. Raises `UserError` if it is not one."""
    try:
        return from_frame(pd.read_csv(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: not the table of answers ({error}); run answer.py first"
        ) from None


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); run write_table.py first") from None
