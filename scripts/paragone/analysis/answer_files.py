"""The answers that files of tables support."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.answers import Section, Tables, answers
from paragone.base.errors import UserError


def answers_of(
    titles: Sequence[str],
    runs: Sequence[Path],
    differences: Sequence[Path],
    comparisons: Sequence[Path],
    bounds: Sequence[Path],
) -> list[Section]:
    """`titles` and `runs`: one per experiment, in order; of the other tables those that there are.

    Raises `UserError` if one is no table.
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
    return answers(experiments, [_read(path) for path in bounds])


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a table ({error}); run write_table.py first") from None
