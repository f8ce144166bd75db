"""The verdict of the parity gate."""

from dataclasses import replace

import numpy as np
import pytest

from paragone.parity import TOLERANCES, Observation, compare

RANDOM = np.random.default_rng(0)


def arrays(*names):
    return {name: RANDOM.normal(size=(20, 10)) for name in names}


REFERENCE = Observation(
    parameters=420,
    logits=RANDOM.normal(size=(64, 10)),
    loss=np.array(2.3),
    gradients=arrays("0.dense.kernel", "0.dense.bias"),
    weights=arrays("0.dense.kernel", "0.dense.bias", "1.batch_norm.moving_mean"),
)
FIELDS = {
    "logits": ("logits", None),
    "loss": ("loss", None),
    "gradients": ("gradients", "0.dense.bias"),
    "weights": ("weights", "0.dense.bias"),
    "statistics": ("weights", "1.batch_norm.moving_mean"),
}


def off(group: str, change) -> Observation:
    """The reference with one array of a group changed."""
    field, name = FIELDS[group]
    value = getattr(REFERENCE, field)
    changed = change(value) if name is None else {**value, name: change(value[name])}
    return replace(REFERENCE, **{field: changed})


def test_equal_observations_pass():
    verdict = compare(REFERENCE, REFERENCE)
    assert verdict == {"passed": True, "reason": None, "deviations": dict.fromkeys(TOLERANCES, 0)}


@pytest.mark.parametrize("group", TOLERANCES)
def test_deviation_is_relative_to_the_reference(group):
    verdict = compare(off(group, lambda values: values * 1.01), REFERENCE)
    assert verdict["deviations"][group] == pytest.approx(0.01)


@pytest.mark.parametrize("group", TOLERANCES)
@pytest.mark.parametrize(("factor", "passed"), [(0.99, True), (1.01, False)])
def test_tolerance_is_the_bound(group, factor, passed):
    by = 1 + factor * TOLERANCES[group]
    verdict = compare(off(group, lambda values: values * by), REFERENCE)
    assert verdict["passed"] is passed
    assert passed or verdict["reason"].startswith(f"{group} deviate by ")


@pytest.mark.parametrize("group", TOLERANCES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_fails(group, value):
    verdict = compare(off(group, lambda values: np.full_like(values, value)), REFERENCE)
    assert verdict["passed"] is False
    assert group in verdict["reason"]


def test_other_number_of_parameters_fails_at_once():
    verdict = compare(replace(REFERENCE, parameters=421), REFERENCE)
    assert verdict["passed"] is False
    assert verdict["reason"] == "421 trainable parameters, 420 expected"


def test_every_failing_group_is_named():
    both = replace(off("loss", lambda value: value * 2), logits=REFERENCE.logits * 2)
    assert compare(both, REFERENCE)["reason"].count("deviate by") == 2


@pytest.mark.parametrize("group", ["logits", "gradients", "weights", "statistics"])
def test_array_of_another_shape_fails(group):
    verdict = compare(off(group, lambda values: values[:, :1]), REFERENCE)
    assert verdict["passed"] is False
    assert group in verdict["reason"]


@pytest.mark.parametrize("field", ["gradients", "weights"])
def test_missing_array_fails(field):
    fewer = {"0.dense.kernel": getattr(REFERENCE, field)["0.dense.kernel"]}
    verdict = compare(replace(REFERENCE, **{field: fewer}), REFERENCE)
    assert verdict["passed"] is False
    assert field in verdict["reason"]
