"""The verdict of the parity gate."""

from dataclasses import replace

import numpy as np
import pytest

from paragone.parity.compare import TOLERANCES, Observation, compare

RANDOM = np.random.default_rng(0)


def arrays(*names):
    return {name: RANDOM.normal(size=(20, 10)) for name in names}


REFERENCE = Observation(
    precision="float64",
    parameters=420,
    logits=RANDOM.normal(size=(64, 10)),
    loss=np.array(2.3),
    gradients=arrays("0.dense.kernel", "0.dense.bias"),
    weights=arrays("0.dense.kernel", "0.dense.bias", "1.batch_norm.moving_mean"),
)
PRECISIONS = sorted(TOLERANCES)
GROUPS = ["logits", "loss", "gradients", "weights", "statistics"]
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
    assert verdict == {"passed": True, "reason": None, "deviations": dict.fromkeys(GROUPS, 0)}


@pytest.mark.parametrize("group", GROUPS)
def test_deviation_is_relative_to_the_reference(group):
    verdict = compare(off(group, lambda values: values * 1.01), REFERENCE)
    assert verdict["deviations"][group] == pytest.approx(0.01)


def test_every_precision_bounds_every_group():
    assert PRECISIONS == ["float32", "float64"]
    for precision in PRECISIONS:
        assert list(TOLERANCES[precision]) == GROUPS
    for group in GROUPS:
        assert 0 < TOLERANCES["float64"][group] <= TOLERANCES["float32"][group] < 0.1


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("factor", "passed"), [(0.99, True), (1.01, False)])
def test_tolerance_of_the_probes_precision_is_the_bound(group, factor, passed, precision):
    """The reference is in double precision, whatever the probe."""
    by = 1 + factor * TOLERANCES[precision][group]
    found = replace(off(group, lambda values: values * by), precision=precision)
    verdict = compare(found, REFERENCE)
    assert verdict["passed"] is passed
    assert passed or verdict["reason"].startswith(f"{group} deviate by ")


@pytest.mark.parametrize("group", GROUPS)
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


@pytest.mark.parametrize("field", ["gradients", "weights"])
def test_noise_where_nothing_should_be_counts_against_all_arrays(field):
    """A bias before batch norm has no gradient: its rounding noise is no deviation of 100 %."""
    values = getattr(REFERENCE, field)
    small = {**values, "2.conv2d.bias": np.full(4, 1e-16)}
    reference = replace(REFERENCE, **{field: small})
    learned = [array for name, array in small.items() if "moving" not in name]
    whole = np.sqrt(sum(np.sum(array**2) for array in learned))

    def found(noise: float) -> dict:
        changed = {**small, "2.conv2d.bias": np.full(4, noise)}
        return compare(replace(reference, **{field: changed}), reference)

    assert found(-1e-16)["passed"] is True
    verdict = found(0.5)  # an array of norm 1
    assert verdict["passed"] is False
    assert verdict["deviations"][field] == pytest.approx(1 / (0.01 * whole), rel=1e-6)


def test_logits_are_measured_by_themselves():
    tiny = replace(REFERENCE, logits=REFERENCE.logits * 1e-12)
    verdict = compare(replace(tiny, logits=tiny.logits * 2), tiny)
    assert verdict["deviations"]["logits"] == pytest.approx(1)
