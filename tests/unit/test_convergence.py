"""Convergence against reference runs: which backend needs too few epochs to be true."""

import pytest
from make_results import find, valid_records, write_results

from paragone.analysis.compliance import MISSED, p_of_fewer

SLOW, FAST, NEVER = [0.5] * 7 + [0.81] * 2 + [0.7], [0.81] * 10, [0.5] * 10


def courses(reference, other, n):
    made = valid_records(range(n), ("torch", "torch-xla"), {"torch": reference, "torch-xla": other})
    return made


@pytest.mark.parametrize(
    ("reference", "other", "n", "expected"),
    [
        (SLOW, FAST, 4, {"too-fast"}),
        (NEVER, FAST, 4, {"too-fast"}),  # misses are later than every hit
        (SLOW, FAST, 2, set()),  # too few runs to tell
        (FAST, SLOW, 4, set()),  # slower is no offence
        (SLOW, SLOW, 4, set()),
        (NEVER, NEVER, 4, set()),
    ],
)
def test_too_fast_to_be_true(tmp_path, reference, other, n, expected):
    found = find(write_results(tmp_path, courses(reference, other, n)))
    assert {one.rule for one in found} == expected
    if expected:
        assert {one.run.split(".")[1] for one in found} == {"torch-xla"}


def test_several_backends_are_a_family(tmp_path):
    """The least p of four runs against four is 1/70, of two such comparisons 1/35."""
    kinds = ("torch", "torch-xla", "tensorflow-mirrored")
    made = valid_records(range(4), kinds, dict(zip(kinds, (SLOW, FAST, FAST), strict=True)))
    found = find(write_results(tmp_path, made))
    assert {one.rule for one in found} == {"too-fast"}
    assert all("p = 0.0143, 0.0286 adjusted for 2" in one.value for one in found)


@pytest.mark.parametrize(
    ("epochs", "reference", "p"),
    [
        # Of the C(6,3) = 20 arrangements of six distinct values, one has the three least first.
        ([1, 2, 3], [4, 5, MISSED], 1 / 20),
        ([1, 2, 4], [3, 5, 6], 2 / 20),
        ([3, 3, 3, 3], [3, 3, 3, 3], 1),
        ([1, 2], [3, 4], None),
        ([], [3, 4], None),
    ],
)
def test_the_p_value_of_convergence_by_hand(epochs, reference, p):
    assert p_of_fewer(epochs, reference) == (p and pytest.approx(p))
