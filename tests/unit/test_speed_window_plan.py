"""The speed window: what is planned, on which clock, and the rate and constant that follow."""

import math

import pytest
from msgspec.structs import astuple
from workspace import make_spec

from paragone.records.run_metrics import steady
from paragone.records.run_record import Timed
from paragone.training.speed_window import plan

SPEC = make_spec("fashion-conv", "torch", global_batch=100)


def measured(lengths: list[int], constant: float, step: float) -> list[Timed]:
    return [Timed(steps, constant + steps * step) for steps in lengths]


def played(constant: float, step: float, expected: float, limit: float = 60.0) -> list[Timed]:
    """All epochs of a window on a machine of this speed; `expected`: seconds of a step in training."""
    window: list[Timed] = []
    while lengths := plan(window, expected, 5.0, limit):
        window += measured(lengths, constant, step)
        expected = sum(each.seconds for each in window) / sum(each.steps for each in window)
    return window


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (measured([3, 24, 3], 0.2, 0.01), (3, 30, 3000, 0.9, 1e4, 0.2)),
        # Epochs of one length, and longer ones that were faster: the rate of all, and no constant.
        ([Timed(2, 1.0)], (1, 2, 200, 1.0, 200, None)),
        ([Timed(1, 0.75), Timed(3, 0.25)], (2, 4, 400, 1.0, 400, None)),
    ],
)
def test_rate_and_constant_are_told_apart(window, expected):
    assert astuple(steady(window, SPEC)) == pytest.approx(expected)
    assert steady([], SPEC) is None


@pytest.mark.parametrize("expected", [0.5, 1, 4])
@pytest.mark.parametrize("constant", [0, 0.03])
@pytest.mark.parametrize(
    ("step", "limit"),
    [*((step, 60.0) for step in (1e-4, 0.013, 0.24, 0.3, 2.9)), (0.013, 5.0), (0.1, 5.0)],
)
def test_a_window_is_long_enough_and_little_longer(constant, step, limit, expected):
    """However far off the first guess is, between half of a step's time and four times."""
    window = played(constant, step, step * expected, limit)
    spent, steps = math.fsum(each.seconds for each in window), sum(each.steps for each in window)
    assert steps >= 20
    assert 5 <= spent < max(12, 30 * step)
    assert len({each.steps for each in window}) > 1
    assert steady(window, SPEC).constant_seconds == pytest.approx(constant, abs=1e-9)


def test_the_first_plan_favors_neither_length_on_a_machine_that_slows_down():
    middles, done = {}, 0
    for steps in plan([], 0.01, 5.0, 60.0):
        middles.setdefault(steps, []).append(done + steps / 2)
        done += steps
    short, long = (sum(times) / len(times) for times in middles.values())
    assert short == long
    assert done == 500


def test_a_slow_step_is_stopped_by_the_limit():
    assert sum(each.steps for each in played(0, 5.0, 5.0)) == 12
    assert [each.steps for each in played(0, 100.0, 100.0)] == [1]
