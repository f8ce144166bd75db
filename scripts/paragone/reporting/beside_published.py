"""Tables of published values beside measured ones: a verdict per row, one column per measured series."""

import pandas as pd

from paragone.analysis import verdicts
from paragone.base.errors import UserError
from paragone.reporting.markup import WIDE, Block, Table

RUNS = "runs of "  # the column of a series' run names is called after that of its values
_BEFORE, _AFTER = 4, 3  # columns of the published value, and of the verdict


def line(
    about: tuple[str, str, str, str], findings: dict[str, verdicts.Finding], note: str = ""
) -> dict[str, str]:
    """One row. `about`: metric, condition, system and published value. `findings`: by series."""
    verdict, why = verdicts.overall(findings)
    return {
        **dict(zip(("metric", "condition", "system", "published"), about, strict=True)),
        **{label: finding.measured for label, finding in findings.items()},
        "verdict": verdict,
        "why": why,
        "note": note,
        **{f"{RUNS}{label}": " ".join(one.runs) for label, one in findings.items()},
    }


def table_of(lines: list[dict[str, str]], title: str, remarks: list[str]) -> Table:
    """The lines as a table; the names of runs are in its CSV file only: too long for a page.

    Raises `UserError` if there is no line: no published experiment was named.
    """
    if not lines:
        raise UserError("--published-experiment: missing; name whose published rows are shown")
    rows = pd.DataFrame(lines)
    cells = rows.drop(columns=[name for name in rows if name.startswith(RUNS)])
    measured = cells.shape[1] - _BEFORE - _AFTER
    source = cells["note"].map(lambda note: note and f"; source: {note}")
    block = Block(
        cells,
        f"l{WIDE}l{WIDE * measured}l{WIDE}",
        caption=f"{title}. Published on: {'; '.join(cells['system'].unique())}.",
        for_latex=cells.assign(why=cells["why"] + source).drop(columns=["system", "note"]),
    )
    return Table(rows, f"{title}: published and measured", remarks, [block])
