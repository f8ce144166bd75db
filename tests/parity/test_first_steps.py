"""The gate at what is timed: the first steps of real runs, and wrong engines that only several replicas show.

Other backends and workloads: test_first_steps_full.py and test_first_steps_nightly.py.
"""

import pytest


def test_two_replicas_take_the_steps_of_the_reference(short_runs):
    found = short_runs.first_steps("torch-ddp")
    assert found.passed, found.reason
    assert 0 < found.deviations["updates"] < 0.05


def test_mixed_precision_deviates_no_more_than_it_costs(short_runs):
    """bfloat16 has 8 bits: updates deviate by some 0.1, in float32 by at most 0.007."""
    found = short_runs.first_steps("torch", 1, "bfloat16")
    assert found.passed, found.reason
    assert 0.03 < found.deviations["updates"] < 0.5
    assert found.deviations["means"] > 1e-4  # in float32 2e-5 at most


@pytest.mark.parametrize(
    ("name", "group"),
    [("replicas-on-their-own", "updates"), ("statistics-of-the-second-replica", "means")],
)
def test_a_wrong_engine_of_several_replicas_is_refused(short_runs, name, group):
    found = short_runs.first_steps_of_wrong_engine("torch-ddp", name)
    assert found.passed is False
    assert f"{group} deviate by" in found.reason
