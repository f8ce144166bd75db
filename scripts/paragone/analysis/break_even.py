"""The length of training from which a faster way makes up for a slower start."""

import pandas as pd

from paragone.analysis.metrics import named
from paragone.analysis.pair_sentences import is_won, joined, winner_and_other
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
    speed, whole = named(SPEED), named(METRIC)
    faster = {winner_and_other(row) for row in speeds.to_dict("records") if is_won(row, speed)}
    won = [row for row in rows.to_dict("records") if is_won(row, whole)]
    parts = []
    for quick in best(rows):
        later = [
            f"{slow} after about {examples:,.0f}"
            for row in won
            for winner, slow in [winner_and_other(row)]
            if winner == quick and (slow, quick) in faster and (examples := _overtakes(row, runs))
        ]
        if later:
            parts.append(f"{quick} is overtaken by {joined(later)} examples")
    return f" At their steady speeds, evaluation aside, {'; '.join(parts)}." if parts else ""


def _overtakes(row: dict, runs: pd.DataFrame) -> float | None:
    """Examples after which the slower start is made up for, to two digits; None if the medians say never."""
    names = row["runs"].split()  # of the first, then as many of the second
    both = [runs[runs["run"].isin(half)] for half in (names[: row["n"]], names[row["n"] :])]
    quick, slow = both if winner_and_other(row)[0] == row["first"] else both[::-1]
    done = length(pd.concat(both))
    seconds = slow["end_to_end_seconds"].median() - quick["end_to_end_seconds"].median()
    per_example = [1 / one["steady_examples_per_second"].median() for one in (quick, slow)]
    if done is None or not (seconds > 0 and per_example[0] > per_example[1]):
        return None
    return float(f"{done + seconds / (per_example[0] - per_example[1]):.2g}")
