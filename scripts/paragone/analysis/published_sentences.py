"""Sentences on published numbers beside measured ones: which hold, which do not, which cannot be compared."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import pandas as pd

from paragone.analysis.pair_sentences import joined
from paragone.analysis.prediction import AT_CHANCE, DIFFERS, REPRODUCED, UNDECIDED
from paragone.analysis.verdicts import NOT_COMPARABLE, VERDICTS

_OUTCOMES = ["outcome", "primary"]  # families of losses and accuracies
# Of one number, and of several.
_WORDS = {
    REPRODUCED: ("is reproduced", "are reproduced"),
    DIFFERS: ("differs", "differ"),
    AT_CHANCE: ("is at chance", "are at chance"),
    UNDECIDED: ("is undecided", "are undecided"),
}


def overview(comparisons: Sequence[pd.DataFrame]) -> str:
    """All rows of all tables `comparison` counted by their verdicts; nothing where none can be judged."""
    columns = ["metric", "family", "verdict", "half_width", "margin", "needed"]
    tables = [table.reindex(columns=columns) for table in comparisons if len(table)]
    if not tables:
        return ""
    rows = pd.concat(tables)
    judged = rows[rows["verdict"] != NOT_COMPARABLE]
    if judged.empty:
        return ""
    text = (
        f"Of {len(rows):,} published numbers and ratios, of which many are epochs of the same run, these "
        f"runs can judge {len(judged):,}: {_counted(judged['verdict'])}."
    )
    learned = judged["family"].isin(_OUTCOMES) | (judged["metric"] == "parameters")
    if learned.all():
        text += " All are losses, accuracies and sizes of models: none is a speed or a time."
    undecided = judged[judged["verdict"] == UNDECIDED]
    hopeless = undecided["needed"].isna() & (undecided["half_width"] > undecided["margin"])
    if hopeless.any():
        text += (
            f" Of the undecided {hopeless.sum()} stay so with any number of runs: the same program with "
            "another seed may differ by more than the margin."
        )
    if len(judged) < len(rows):
        text += " Why the others cannot be compared is said below."
    return text


def sentences(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Sentences on one published system, each with its verdict. `rows`: of the table `comparison`."""
    system = rows["system"].iloc[0]
    outcomes = rows[rows["family"].isin(_OUTCOMES)]
    judged = outcomes[outcomes["verdict"] != NOT_COMPARABLE]
    counted = rows[~rows.index.isin(outcomes.index) & (rows["verdict"] != NOT_COMPARABLE)]
    for row in counted.to_dict("records"):
        yield f"{system}, {_name(row)}: {row['verdict']} ({row['why']}).", row["verdict"]
    if judged.empty:
        if counted.empty:
            why = _commonest((outcomes if len(outcomes) else rows)["why"])
            yield f"{system}: not comparable ({why}).", NOT_COMPARABLE
        return
    final = judged[judged["family"] == "primary"]
    text = f"{system}, judged by {judged['judge'].iloc[0]}: "
    if len(final):
        text += f"at the end of training {'; '.join(map(_end, final.to_dict('records')))}. "
    text += f"Of all {len(outcomes)} losses and accuracies {_counted(judged['verdict'])}"
    if left := len(outcomes) - len(judged):
        text += f"; {left} cannot be compared"
    # The one that speaks most against the published numbers.
    found = set((final if len(final) else judged)["verdict"])
    worst = next(one for one in (DIFFERS, AT_CHANCE, UNDECIDED, REPRODUCED) if one in found)
    yield f"{text}.", worst


def _commonest(reasons: pd.Series) -> str:
    """Of the reasons those of rows for which there are runs, and of these the most frequent, or the first."""
    whys = reasons.tolist()
    tried = [why for why in whys if "no run" not in why] or whys
    return str(max(tried, key=tried.count))


def _counted(verdicts: pd.Series) -> str:
    counts = Counter(verdicts)
    return joined(
        [f"{counts[one]} {_WORDS[one][min(counts[one], 2) - 1]}" for one in VERDICTS if counts[one]]
    )


def _name(row: dict) -> str:
    return str(row["metric"]).replace("_", " ")


def _end(row: dict) -> str:
    """One number: published, measured, how far apart and how far they may be."""
    value, _, unit = str(row["published"]).partition(" ")
    published = f"{round(float(value), 4):g} {unit}".strip()
    text = f"{_name(row)} {published} published, {row[row['judge']]} measured"
    if math.isfinite(row["margin"]):
        text += f", {abs(row['difference']):.4f} apart, margin {row['margin']:.4f}"
    return f"{text}: {row['verdict']}"
