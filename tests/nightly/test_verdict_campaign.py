"""How often the verdicts are right where the truth is known: 10,000 draws."""

import pytest
from unit import test_verdict_rates as rates

DRAWS = 10_000
CHANCE = 3 * (0.05 * 0.95 / DRAWS) ** 0.5


@pytest.mark.parametrize("workload", rates.SPREADS)
@pytest.mark.parametrize("at_hand", [1, 3])
def test_exact_replicates_rarely_differ(workload, at_hand):
    assert rates.falsely_differing(workload, "normal", DRAWS, at_hand) <= 0.05 + CHANCE


@pytest.mark.parametrize("workload", rates.SPREADS)
def test_exact_replicates_of_programs_that_get_stuck_rarely_differ(workload):
    """A published run may be stuck where none of ours was."""
    assert rates.falsely_differing(workload, "sometimes stuck", DRAWS) <= 0.07


@pytest.mark.parametrize(("workload", "metric"), rates.ALLOWED)
def test_programs_two_margins_away_differ(workload, metric):
    assert rates.found_shifted(workload, metric, DRAWS) >= 0.9 - CHANCE


@pytest.mark.parametrize("published", [3, 8])
@pytest.mark.parametrize(("outcomes", "most"), [("normal", 0.05), ("sometimes stuck", 0.07)])
def test_samples_of_the_same_program_rarely_differ(outcomes, most, published):
    assert rates.falsely_differing_samples(outcomes, published, DRAWS) <= most + CHANCE


@pytest.mark.parametrize("noise", rates.NOISES)
@pytest.mark.parametrize("backends", [2, 3, 4])  # families of 1, 3 and 6 comparisons
def test_equal_backends_are_rarely_called_faster(noise, backends):
    for repeats in (8, 10):
        assert rates.falsely_faster(noise, backends, repeats, DRAWS) <= 0.05 + CHANCE


@pytest.mark.parametrize("noise", rates.CONTESTS)
@pytest.mark.parametrize("variants", [2, 4])
@pytest.mark.parametrize("apart", [0.0, rates.SLOWDOWN])
def test_contests_that_end_when_all_is_decided_are_rarely_wrong(noise, variants, apart):
    assert rates.wrong_after_contests(noise, variants, DRAWS, apart=apart) <= 0.05 + CHANCE
