"""Few draws of the simulations of tests/nightly/test_verdict_campaign.py, up to chance."""

import pytest
from verdict_rates import NOISES, SPREADS, falsely_faster, reproduced

DRAWS = 500


@pytest.mark.parametrize("workload", SPREADS)
def test_exact_reproductions_are_called_reproduced_and_shifted_ones_are_not(workload):
    assert reproduced(workload, 0, DRAWS) >= 0.90 - 0.04
    assert reproduced(workload, 2, DRAWS) <= 0.05 + 0.03


@pytest.mark.parametrize("noise", NOISES)
def test_equal_backends_are_rarely_called_faster(noise):
    assert falsely_faster(noise, 3, 8, DRAWS) <= 0.05 + 0.03
