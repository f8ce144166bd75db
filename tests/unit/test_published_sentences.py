"""Answers on published numbers: what was judged, against which number, and the count of all."""

import numpy as np
import pandas as pd
import pytest
from make_records import make_record, typed

from paragone.analysis import tidy
from paragone.analysis.answers import Section, Tables, answers

PUBLISHED = 1


def published(verdicts: dict[str, str], others: list[str]) -> pd.DataFrame:
    """A comparison: primary rows with their verdicts, and other outcomes."""
    rows = [
        {"metric": metric, "verdict": verdict, "family": "primary"}
        for metric, verdict in verdicts.items()
    ] + [{"metric": "train_loss", "verdict": verdict, "family": "outcome"} for verdict in others]
    shared = {
        "system": "8 TPU cores",
        "published": "0.812344 nats",
        "judge": "PyTorch",
        "why": "PyTorch: why",
        "difference": -0.0034,
        "margin": 0.02,
    }
    return pd.DataFrame([{**row, **shared, "PyTorch": "0.81 ± 0.01 (n = 2)"} for row in rows])


def section(table: pd.DataFrame) -> Section:
    runs, _ = tidy.tables(typed([make_record("torch")]), "one", {})
    return answers([Tables("one", "Holds?", runs, comparison=table)])[PUBLISHED]


def sentences(table: pd.DataFrame) -> list[str]:
    return section(table).sentences


def test_a_reproduced_run_says_so_and_counts_all_rows():
    overview, text = sentences(
        published({"test_accuracy": "reproduced"}, ["reproduced", "differs", "undecided"])
    )
    assert overview == (
        "Of 4 published numbers and ratios, of which many are epochs of the same run, these runs can judge "
        "4: 2 are reproduced, 1 differs and 1 is undecided. All are losses, accuracies and sizes of models: "
        "none is a speed or a time."
    )
    assert text == (
        "Holds? 8 TPU cores, judged by PyTorch: at the end of training test accuracy 0.8123 nats published, "
        "0.81 ± 0.01 (n = 2) measured, 0.0034 apart, margin 0.0200: reproduced. "
        "Of all 4 losses and accuracies 2 are reproduced, 1 differs and 1 is undecided."
    )


@pytest.mark.parametrize("verdict", ["differs", "at chance", "undecided"])
def test_the_verdict_that_speaks_most_against_the_published_numbers_is_that_of_all(verdict):
    table = published({"test_accuracy": "reproduced", "test_loss": verdict}, [])
    _, answer = section(table).answers
    assert answer.verdict == verdict
    assert f"margin 0.0200: {verdict}" in answer.text


def test_what_no_number_of_runs_decides_is_counted():
    """Of four: two that vary by more than the margin, one that 13 runs decide, one without an interval."""
    table = published({"test_accuracy": "undecided"}, ["undecided"] * 3)
    table["half_width"], table["needed"] = [0.03, 0.04, 0.03, np.nan], [np.nan, np.nan, 13, np.nan]
    assert "a time. Of the undecided 2 stay so with any number of runs: " in sentences(table)[0]


def test_another_protocol_is_not_comparable():
    (text,) = sentences(published({"test_accuracy": "not comparable"}, ["not comparable"]))
    assert text == "Holds? 8 TPU cores: not comparable (PyTorch: why)."


def test_a_speed_that_can_be_judged_is_not_denied():
    table = published({"test_accuracy": "reproduced"}, ["reproduced"])
    table.loc[1, ["metric", "family"]] = "speed-up", "ratio"
    assert "none is a speed" not in sentences(table)[0]


def test_numbers_that_cannot_be_judged_are_counted_too():
    table = published({"test_accuracy": "reproduced"}, ["not comparable", "not comparable"])
    overview, text = sentences(table)
    assert "these runs can judge 1: 1 is reproduced." in overview
    assert "Why the others cannot be compared is said below." in overview
    assert text.endswith("Of all 3 losses and accuracies 1 is reproduced; 2 cannot be compared.")


def test_why_a_system_cannot_be_compared_is_the_reason_of_what_was_run():
    table = published(
        dict.fromkeys(("test_accuracy", "test_loss", "train_loss"), "not comparable"), []
    )
    table["why"] = [
        "no run with global batch 128",
        "no run with global batch 128",
        "other hardware",
    ]
    (text,) = sentences(table)
    assert text == "Holds? 8 TPU cores: not comparable (other hardware)."
