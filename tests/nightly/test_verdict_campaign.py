"""How often the verdicts are right where the truth is known: the simulations of the unit tests, longer."""

import pytest
from unit.test_verdict_rates import (
    SPREADS,
    draws,  # noqa: F401 - a fixture of the tests
    falsely_differing,
    test_contests_that_end_when_all_is_decided_are_rarely_wrong,  # noqa: F401
    test_equal_backends_are_rarely_called_faster,  # noqa: F401
    test_exact_replicates_rarely_differ,  # noqa: F401
    test_programs_two_margins_away_differ,  # noqa: F401
    test_samples_of_the_same_program_rarely_differ,  # noqa: F401
)

DRAWS = 10_000


@pytest.mark.parametrize("workload", SPREADS)
def test_exact_replicates_of_programs_that_get_stuck_rarely_differ(workload):
    """A published run may be stuck where none of ours was."""
    assert falsely_differing(workload, "sometimes stuck", DRAWS) <= 0.07
