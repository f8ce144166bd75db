"""Do ways of training learn the same? Accuracies of test and training, paired by seed with the baseline's."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import scipy

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.analysis.pairwise import EQUAL
from paragone.analysis.prediction import DIFFERS, UNDECIDED
from paragone.reporting import footnotes
from paragone.reporting.beside_baseline import works
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

# Of accuracies, as in published/margins.csv, which has the reason.
MARGIN = 0.02
SPLITS = ("test", "train")
# An interval of 90 % within the margin is equivalence by two one-sided tests at 5 %.
CONFIDENCE = 0.90
METHOD = (
    "Accuracies after and during the last epoch, mean ± standard deviation over n seeds. Difference: mean "
    "over pairs of one seed, that of the baseline ({}) subtracted, with its 90 % interval by Student's t; "
    f"equal within {MARGIN}: the interval is within ±{MARGIN}; {DIFFERS}: it is beyond. Majority: the share "
    "of the most frequent class, which is chance."
)


def table(inputs: Inputs) -> Table:
    """One row per workload, global batch, series and split."""
    rows, baselines = [], []
    for work, baseline, same in works(inputs):
        rows += [{"work": work, **_row(one, baseline, split)} for split in SPLITS for one in same]
        baselines.append(baseline.name)
    found = pd.DataFrame(rows)
    method = METHOD.format(", ".join(dict.fromkeys(baselines)))
    block = Block(pd.DataFrame(_cells(found)), f"ll{WIDE}rrrr{WIDE}")
    title = f"{inputs.title}: accuracies beside the baseline's"
    return Table(found, title, footnotes.about(inputs.runs, method), [block])


def _row(one: Series, baseline: Series, split: str) -> dict[str, Any]:
    """`difference`, `low`, `high`: none of the baseline itself."""
    accuracies, others = (_by_seed(each, split) for each in (one, baseline))
    row: dict[str, Any] = {
        "split": split,
        "series": one.label,
        "backend": one.backend,
        "precision": one.runs["precision"].iloc[0],
        "n": len(accuracies),
        "accuracy": accuracies.mean(),
        "deviation": accuracies.std(),
        "majority": one.runs[f"{split}_majority"].astype("float64").max(),
        "runs": " ".join(one.measured["run"]),
        "words": "; ".join(run_states.not_completed(one.runs)),
    }
    if one is baseline:
        nothing = dict.fromkeys(("difference", "low", "high"), math.nan)
        return row | nothing | {"verdict": "baseline"}
    pairs = (accuracies - others).dropna()
    low, high = _interval(pairs)
    verdict = _verdict(low, high)
    return row | {"difference": pairs.mean(), "low": low, "high": high, "verdict": verdict}


def _by_seed(one: Series, split: str) -> pd.Series:
    return one.measured.set_index("seed")[f"final_{split}_accuracy"].astype("float64")


def _interval(pairs: pd.Series) -> tuple[float, float]:
    """Of the mean; unbounded for fewer than two pairs."""
    if len(pairs) < 2:
        return -math.inf, math.inf
    half = (
        scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(pairs) - 1)
        * pairs.std()
        / math.sqrt(len(pairs))
    )
    return pairs.mean() - half, pairs.mean() + half


def _verdict(low: float, high: float) -> str:
    if low > -MARGIN and high < MARGIN:
        return EQUAL
    return DIFFERS if low > MARGIN or high < -MARGIN else UNDECIDED


def _cells(found: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in found.to_dict("records"):
        yield {
            "workload": row["work"],
            "of": row["split"],
            "way": row["series"],
            "n": str(row["n"]),
            "accuracy": _accuracy(row),
            "majority": "" if pd.isna(row["majority"]) else f"{row['majority']:.3f}",
            "difference": _difference(row),
            "verdict": "; ".join(filter(None, (_verdict_words(row), row["words"]))),
        }


def _verdict_words(row: dict[str, Any]) -> str:
    if not row["n"]:
        return ""
    return f"equal within {MARGIN}" if row["verdict"] == EQUAL else str(row["verdict"])


def _accuracy(row: dict[str, Any]) -> str:
    if not row["n"]:
        return "-"
    return f"{row['accuracy']:.4f}" + (f" ± {row['deviation']:.4f}" if row["n"] > 1 else "")


def _difference(row: dict[str, Any]) -> str:
    if pd.isna(row["difference"]):
        return ""
    text = f"{row['difference']:+.4f}"
    return f"{text} [{row['low']:+.4f}, {row['high']:+.4f}]" if math.isfinite(row["low"]) else text
