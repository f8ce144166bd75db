"""The speed window: what is planned, on which clock, and the rate and constant that follow."""

import math

import pytest

from paragone.records.run_metrics import Steady, steady
from paragone.records.run_record import Timed
from paragone.training.speed_window import plan


def measured(lengths: list[int], constant: float, step: float) -> list[Timed]:
    return [Timed(steps, constant + steps * step) for steps in lengths]


def played(constant: float, step: float, expected: float, seconds=5.0, limit=60.0) -> list[Timed]:
    """All epochs of a window on a machine of this speed; `expected`: seconds of a step in training."""
    found: list[Timed] = []
    while lengths := plan(found, expected, seconds, limit):
        found += measured(lengths, constant, step)
        expected = sum(one.seconds for one in found) / sum(one.steps for one in found)
    return found


def test_rate_and_constant_are_told_apart():
    found = steady(measured([3, 24, 3], 0.2, 0.01), batch=100)
    assert found == Steady(3, 30, pytest.approx(0.9), pytest.approx(1e4), pytest.approx(0.2))


@pytest.mark.parametrize("window", [[Timed(2, 1.0)], [Timed(1, 0.75), Timed(3, 0.25)]])
def test_what_cannot_be_told_apart_is_the_rate_of_all(window):
    """Epochs of one length, and longer ones that were faster."""
    found = steady(window, batch=10)
    steps = sum(one.steps for one in window)
    assert found == Steady(len(window), steps, 1.0, 10 * steps, None)


def test_without_a_window_there_is_no_speed():
    assert steady([], batch=10) is None


@pytest.mark.parametrize("expected", [0.5, 1, 4])
@pytest.mark.parametrize("constant", [0, 0.03])
@pytest.mark.parametrize("step", [1e-4, 0.013, 0.24, 0.3, 2.9])
def test_a_window_is_long_enough_and_little_longer(constant, step, expected):
    """However far off the first guess is, between half of a step's time and four times."""
    found = played(constant, step, step * expected)
    spent, steps = math.fsum(one.seconds for one in found), sum(one.steps for one in found)
    assert steps >= 20
    assert spent >= 5
    assert spent < max(12, 30 * step)
    assert len({one.steps for one in found}) > 1
    assert steady(found, 1).constant_seconds == pytest.approx(constant, abs=1e-9)


def test_the_first_plan_favors_neither_length_on_a_machine_that_slows_down():
    lengths = plan([], 0.01, 5.0, 60.0)
    middles = {}
    done = 0
    for steps in lengths:
        middles.setdefault(steps, []).append(done + steps / 2)
        done += steps
    short, long = (sum(times) / len(times) for times in middles.values())
    assert short == long
    assert done == 500


def test_a_slow_step_is_stopped_by_the_limit():
    assert sum(one.steps for one in played(0, 5.0, 5.0)) == 12
    assert [one.steps for one in played(0, 100.0, 100.0)] == [1]
