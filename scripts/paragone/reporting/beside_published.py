"""Tables of published values beside measured ones: a verdict per row, one column per measured series."""

import math

import pandas as pd

from paragone.analysis import verdicts
from paragone.analysis.verdicts import NOT_COMPARABLE
from paragone.base.errors import UserError
from paragone.reporting import words
from paragone.reporting.markup import WIDE, Block, Table

# For programs, in the CSV file only: the numbers behind the verdict.
NUMBERS = ["experiment", "family", "judge", "value", "unit", "has_runs"]
JUDGED = ["mean", "n", "difference", "half_width", "margin", "p", "needed"]
_BEFORE, _AFTER = 4, 3  # columns of the published value, and of the verdict


def line(
    about: tuple[str, str, str, str],
    findings: dict[str, verdicts.Finding],
    note: str = "",
    family: str = "",
    judged: tuple[str, verdicts.Finding] | None = None,
    number: tuple[float, str] = (math.nan, ""),
) -> dict[str, object]:
    """One row. `about`: metric, condition, system and published value. `findings`: by series.

    `judged`: the series whose finding is the verdict, and that finding; by default the first that can be
    compared. `number`: the published value and its unit.
    """
    label, finding = judged or verdicts.overall(findings)
    numbers = finding.judgement
    return {
        **dict(zip(("metric", "condition", "system", "published"), about, strict=True)),
        **{label: words.measured(one) for label, one in findings.items()},
        "verdict": finding.verdict,
        "why": _why(
            {label: finding} if finding.verdict != NOT_COMPARABLE else findings, len(findings)
        ),
        "note": note,
        "family": family,
        "judge": label,
        "value": number[0],
        "unit": "" if number[1] in ("fraction", "count") else number[1],
        "has_runs": all(each.has_runs for each in findings.values()),
        **{name: getattr(numbers, name, math.nan) for name in JUDGED},
        "runs": " ".join(dict.fromkeys(run for each in findings.values() for run in each.runs)),
    }


def _why(findings: dict[str, verdicts.Finding], columns: int) -> str:
    """The reason of the one that judges, or of each that cannot be compared; equal ones once."""
    reasons: dict[str, list[str]] = {}
    for label, one in findings.items():
        reasons.setdefault(words.reasons(one), []).append(label)
    if columns == 1 or (len(reasons) == 1 and len(findings) > 1):
        return "; ".join(reasons)
    return "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


def table_of(lines: list[dict[str, object]], title: str, remarks: list[str]) -> Table:
    """The lines as a table; names of runs and the numbers of the verdict are in its CSV file only.

    Raises `UserError` if there is no line: no published experiment was named.
    """
    if not lines:
        raise UserError("--published-experiment: missing; name whose published rows are shown")
    rows = pd.DataFrame(lines)
    cells = rows.drop(columns=[*NUMBERS, *JUDGED, "runs"], errors="ignore")
    measured = cells.shape[1] - _BEFORE - _AFTER
    source = cells["note"].map(lambda note: note and f"; source: {note}")
    block = Block(
        cells,
        f"l{WIDE}l{WIDE * measured}l{WIDE}",
        caption=f"{title}. Published on: {'; '.join(cells['system'].unique())}.",
        for_latex=cells.assign(why=cells["why"] + source).drop(columns=["system", "note"]),
    )
    return Table(rows, f"{title}: published and measured", remarks, [block])
