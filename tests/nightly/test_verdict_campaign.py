"""How often the verdicts are right where the truth is known: 10,000 draws. `pytest -s` prints the rates."""

import pytest
from verdict_rates import NOISES, SPREADS, decidable, falsely_faster, found, reproduced

DRAWS = 10_000
CHANCE = 3 * (0.05 * 0.95 / DRAWS) ** 0.5


@pytest.mark.parametrize("workload", SPREADS)
def test_exact_reproductions_are_called_reproduced_and_shifted_ones_are_not(workload):
    exact = reproduced(workload, 0, DRAWS)
    shifted = [reproduced(workload, shift, DRAWS) for shift in (-2, 2)]
    rows = len(decidable(workload))
    print(f"\n{workload}, {rows} rows: reproduced {exact:.3f}; shifted by two margins {shifted}")
    assert exact >= 0.90
    assert max(shifted) <= 0.05


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("backends", [2, 3, 4])  # families of 1, 3 and 6 comparisons
def test_equal_backends_are_rarely_called_faster(noise, backends):
    rates = [falsely_faster(noise, backends, repeats, DRAWS) for repeats in (8, 10)]
    print(f"\n{backends} backends, {noise}: falsely faster with 8 and 10 pairs {rates}")
    assert max(rates) <= 0.05 + CHANCE


@pytest.mark.parametrize("deviation", [0.02, 0.03, 0.04, 0.05])
@pytest.mark.parametrize("comparisons", [1, 3])
def test_a_slowdown_is_found_with_the_pairs_that_are_asked_for(deviation, comparisons):
    for pilot in (3, 6):
        share, hopeless, median = found(deviation, pilot, comparisons, DRAWS)
        print(
            f"\n{deviation}, {comparisons} comparisons, pilot of {pilot}: found {share:.3f} with "
            f"{median:.0f} pairs (median), called hopeless {hopeless:.3f}"
        )
        assert share >= 0.8
