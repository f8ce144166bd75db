"""Fixtures of the unit tests."""

import copy

import pytest
from make_results import VALID


@pytest.fixture
def records() -> list[dict]:
    """Nine records that obey every rule, to plant faults in."""
    return copy.deepcopy(VALID)
