"""How often the verdicts are right where the truth is known: 10,000 draws."""

import pytest
from unit.test_verdict_rates import (
    CONTESTS,
    NOISES,
    SLOWDOWN,
    SPREADS,
    falsely_faster,
    found_of,
    reproduced,
    wrong_after_contests,
)

DRAWS = 10_000
CHANCE = 3 * (0.05 * 0.95 / DRAWS) ** 0.5


@pytest.mark.parametrize("workload", SPREADS)
def test_exact_reproductions_are_called_reproduced_and_shifted_ones_are_not(workload):
    assert reproduced(workload, 0, DRAWS) >= 0.90
    assert max(reproduced(workload, shift, DRAWS) for shift in (-2, 2)) <= 0.05


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("backends", [2, 3, 4])  # families of 1, 3 and 6 comparisons
def test_equal_backends_are_rarely_called_faster(noise, backends):
    for repeats in (8, 10):
        assert falsely_faster(noise, backends, repeats, DRAWS) <= 0.05 + CHANCE


@pytest.mark.parametrize("deviation", [0.02, 0.03, 0.04, 0.05])
@pytest.mark.parametrize("comparisons", [1, 3])
@pytest.mark.parametrize("pilot", [3, 6])
def test_a_slowdown_is_found_with_the_pairs_that_are_asked_for(deviation, comparisons, pilot):
    assert found_of(deviation, pilot, comparisons, DRAWS) >= 0.8


@pytest.mark.parametrize("noise", CONTESTS)
@pytest.mark.parametrize("variants", [2, 4])
@pytest.mark.parametrize("apart", [0.0, SLOWDOWN])
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(noise, variants, apart):
    assert wrong_after_contests(noise, variants, DRAWS, apart=apart) <= 0.05 + CHANCE
