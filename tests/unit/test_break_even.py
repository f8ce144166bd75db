"""Which length of training makes up for a later start."""

import pandas as pd
import pytest

from paragone.analysis import break_even


def runs(**changes) -> pd.DataFrame:
    """Two runs each of Quick, which starts at once, and Fast, of 1,000 examples."""
    table = pd.DataFrame(
        {
            "run": ["q0", "q1", "f0", "f1"],
            "planned_epochs": 2,
            "planned_steps_per_epoch": 5,
            "train_examples": 60_000,
            "global_batch": 100,
            "end_to_end_seconds": [9.0, 11.0, 49.0, 51.0],
            "steady_examples_per_second": [100.0, 100.0, 200.0, 200.0],
        }
    )
    return table.assign(**changes)


def row(verdict: str, **changes) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "metric": "end to end",
                "first": "Quick",
                "second": "Fast",
                "verdict": verdict,
                "effect": 5.0,
                "ratio": True,
                "p_adjusted": 0.01,
                "n": 2,
                "runs": "q0 q1 f0 f1",
                **changes,
            }
        ]
    )


QUICKER, FASTER = "Quick is quicker from start to end", "Fast is faster"


def test_by_hand():
    """40 s later, and 5 ms less for each example: 8,000 examples after the 1,000 of the runs."""
    text = break_even.sentence(row(QUICKER), row(FASTER), runs())
    assert text == (
        " At their steady speeds, evaluation aside, Quick is overtaken by Fast after about 9,000 examples."
    )


def test_the_order_of_the_pair_does_not_matter():
    turned = row(QUICKER, first="Fast", second="Quick", effect=0.2, runs="f0 f1 q0 q1")
    speed = row(FASTER, first="Fast", second="Quick", effect=2.0)
    assert "Quick is overtaken by Fast after about 9,000" in break_even.sentence(
        turned, speed, runs()
    )


@pytest.mark.parametrize(
    ("whole", "speed", "changes"),
    [
        ("undecided", FASTER, {}),
        (QUICKER, "undecided", {}),
        (QUICKER, "Quick is faster", {}),
        (QUICKER, FASTER, {"global_batch": [100, 100, 200, 200]}),
        (QUICKER, FASTER, {"steady_examples_per_second": 100.0}),
    ],
    ids=["start", "speed", "nobody", "other work", "medians"],
)
def test_what_was_not_shown_is_not_said(whole, speed, changes):
    assert break_even.sentence(row(whole), row(speed), runs(**changes)) == ""


def test_whole_epochs_are_those_of_the_data():
    assert break_even.length(runs(planned_steps_per_epoch=pd.NA)) == 2 * 60_000
