"""From which length of training on a faster way makes up for a later start: start and speed as one answer."""

from collections.abc import Iterator

import pandas as pd

from paragone.analysis.metrics import named
from paragone.analysis.pair_sentences import joined
from paragone.analysis.pairwise import best

METRIC = "end to end"
SPEED = "speed"


def length(runs: pd.DataFrame) -> float | None:
    """Examples that each of these runs trains on, epochs counted; None if they differ."""
    steps = runs["planned_steps_per_epoch"].fillna(runs["train_examples"] // runs["global_batch"])
    found = (runs["planned_epochs"] * steps * runs["global_batch"]).dropna().unique()
    return float(found[0]) if len(found) == 1 else None


def sentence(rows: pd.DataFrame, speeds: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Who overtakes whom, by medians; empty where nobody does, or it was not shown.

    rows, speeds: of the table `differences`, on end to end and on speed, of the same work; runs: the table of
    its runs. After N examples more than a run had, a way is ahead by N (1 / v - 1 / w) seconds, v and w the
    steady speeds of the quicker and the faster one.
    """
    faster = {
        (row["first"], row["second"])
        if row["verdict"] == f"{row['first']} is {named(SPEED).words}"
        else (row["second"], row["first"])
        for row in speeds.to_dict("records")
        if row["verdict"].endswith(named(SPEED).words)
    }
    parts = []
    for quick in best(rows):
        later = [
            (slow, examples)
            for slow, row, turned in _slower_than(quick, rows)
            if (slow, quick) in faster and (examples := _overtakes(row, runs, turned)) is not None
        ]
        if later:
            others = [f"{slow} after about {examples:,.0f}" for slow, examples in later]
            parts.append(f"{quick} is overtaken by {joined(others)} examples")
    return f" At their steady speeds, evaluation aside, {'; '.join(parts)}." if parts else ""


def _slower_than(quick: str, rows: pd.DataFrame) -> Iterator[tuple[str, dict, bool]]:
    """Who was shown slower from start to end, the row that says so, and whether it names the slower first."""
    for row in rows.to_dict("records"):
        if row["verdict"] == f"{quick} is {named(METRIC).words}":
            turned = row["second"] == quick
            yield row["first" if turned else "second"], row, turned


def _overtakes(row: dict, runs: pd.DataFrame, turned: bool) -> float | None:
    """Examples after which the slower start is made up for, to two digits."""
    names = row["runs"].split()
    halves = [names[: len(names) // 2], names[len(names) // 2 :]]
    quick, slow = (runs[runs["run"].isin(half)] for half in (halves[::-1] if turned else halves))
    done = length(pd.concat([quick, slow]))
    seconds = slow["end_to_end_seconds"].median() - quick["end_to_end_seconds"].median()
    per_example = [1 / one["steady_examples_per_second"].median() for one in (quick, slow)]
    if done is None or not (seconds > 0 and per_example[0] > per_example[1]):
        return None
    return float(f"{done + seconds / (per_example[0] - per_example[1]):.2g}")
