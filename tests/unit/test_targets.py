"""Time to target: the first of `patience` evaluations in a row at or above an accuracy."""

import math

import pytest
from make_records import make_record, typed
from msgspec.structs import replace

from paragone.config import run_spec
from paragone.records.run_metrics import Target, time_to_target
from paragone.training.loop import stops

TARGET = {"accuracy": 0.8, "patience": 2, "stop": False}


def target(accuracies: list[float], patience: int = 2) -> Target:
    """The time to target of test accuracies of epochs that take 10 seconds each."""
    (made,) = typed([make_record(epochs=6, target=0.8, patience=patience)])
    pairs = zip(made.epochs, accuracies, strict=False)
    epochs = [replace(row, test_accuracy=found, train_seconds=10.0) for row, found in pairs]
    return time_to_target(replace(made, epochs=epochs))


@pytest.mark.parametrize(
    ("accuracies", "patience", "epoch", "interval"),
    [
        ([0.8], 1, 1, (0, 10)),
        ([0.9, 0.7, 0.8, 0.7, 0.8, 0.8], 2, 5, (40, 50)),
        ([0.8, 0.8, 0.1], 2, 1, (0, 10)),
        ([0.7, 0.8, 0.8, 0.8], 3, 2, (10, 20)),
    ],
)
def test_target_reached(accuracies, patience, epoch, interval):
    found = target(accuracies, patience)
    assert (found.reached, found.epoch) == (True, epoch)
    assert (found.last_miss, found.first_hit) == interval


@pytest.mark.parametrize(
    ("accuracies", "patience"),
    [([], 1), ([0.79], 1), ([0.8], 2), ([0.8, 0.7, 0.8], 2), ([0.8, 0.8], 3), ([math.nan], 1)],
)
def test_target_missed_is_censored(accuracies, patience):
    assert target(accuracies, patience) == Target(
        "accuracy", 0.8, patience, False, None, None, None
    )


@pytest.mark.parametrize(
    ("accuracies", "stop", "expected"),
    [
        ([0.8, 0.9], True, True),
        ([0.8, 0.9], False, False),
        ([0.9], True, False),
        ([0.9, 0.9, 0.7, 0.9], True, False),
        ([0.1, 0.8, 0.8], True, True),
    ],
)
def test_run_stops_after_patience(accuracies, stop, expected):
    tested = [{"accuracy": accuracy} for accuracy in accuracies]
    assert stops(run_spec.Target(**TARGET | {"stop": stop}), tested) is expected
    assert stops(None, tested) is False
