"""The verdict of the parity gate."""

from dataclasses import replace

import numpy as np
import pytest

from paragone.parity.compare import FLOORS, TOLERANCES, Observation, compare

RANDOM = np.random.default_rng(0)


def arrays(*names, scale=1.0):
    return {name: scale * RANDOM.normal(size=(20, 10)) for name in names}


def trained(initial: dict, updates: dict) -> dict:
    return {name: values + updates[name] for name, values in initial.items()}


NAMES = ["0.dense.kernel", "0.dense.bias", "1.batch_norm.moving_mean"]
INITIAL = arrays(*NAMES)
UPDATES = arrays(*NAMES, scale=1e-3)  # a thousandth of the weights
REFERENCE = Observation(
    precision="float64",
    parameters=420,
    logits=RANDOM.normal(size=(64, 10)),
    loss=np.array(2.3),
    training=np.array([[2.3, 0.25], [2.2, 0.5]]),
    evaluation=np.array([[2.1, 0.5], [2.1, 0.5]]),
    gradients=arrays("0.dense.kernel", "0.dense.bias"),
    initial=INITIAL,
    weights=trained(INITIAL, UPDATES),
    dropout={"losses": np.array([2.0, 2.1, 2.0]), "effect": np.array(0.25)},
    rounding={name: np.array(4e-3) for name in TOLERANCES if name != "dropout"},
)
PRECISIONS = sorted(FLOORS)
GROUPS = list(TOLERANCES)
ALLOWED = {"float64": TOLERANCES, "float32": dict.fromkeys(TOLERANCES, 4e-2) | {"dropout": 0.7}}
CHANGED = {"updates": "0.dense.bias", "statistics": "1.batch_norm.moving_mean"}


def off(group: str, change) -> Observation:
    """The reference with one array of a group changed; of weights, what the steps changed of it."""
    if group in CHANGED:
        name = CHANGED[group]
        weights = trained(INITIAL, UPDATES | {name: change(UPDATES[name])})
        return replace(REFERENCE, weights=weights)
    value = getattr(REFERENCE, group)
    if group == "gradients":
        return replace(
            REFERENCE, gradients={**value, "0.dense.bias": change(value["0.dense.bias"])}
        )
    if group == "dropout":
        return replace(REFERENCE, dropout={**value, "effect": change(value["effect"])})
    if group in ("training", "evaluation"):
        return replace(REFERENCE, **{group: np.stack([change(value[:, 0]), value[:, 1]], 1)})
    return replace(REFERENCE, **{group: change(value)})


def test_equal_observations_pass():
    verdict = compare(REFERENCE, REFERENCE)
    assert verdict == {
        "passed": True,
        "reason": None,
        "deviations": dict.fromkeys(GROUPS, 0),
        "allowed": TOLERANCES,
    }


@pytest.mark.parametrize("group", GROUPS)
def test_deviation_is_relative_to_the_reference(group):
    verdict = compare(off(group, lambda values: values * 1.01), REFERENCE)
    assert verdict["deviations"][group] == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize("group", CHANGED)
def test_weights_that_never_moved_are_off_by_all_of_their_update(group):
    verdict = compare(off(group, np.zeros_like), REFERENCE)
    assert verdict["deviations"][group] == pytest.approx(1)
    assert f"({CHANGED[group]})" in verdict["reason"]


def test_double_precision_is_tight():
    assert all(0 < value <= 1e-4 for group, value in TOLERANCES.items() if group != "dropout")


@pytest.mark.parametrize(("rounding", "allowed"), [(1e-9, 5e-5), (1e-3, 1e-2), (0.5, 0.9)])
def test_single_precision_may_cost_ten_times_what_it_costs_the_reference(rounding, allowed):
    """And weights that never moved do not pass, however much that is."""
    reference = replace(REFERENCE, rounding={**REFERENCE.rounding, "updates": np.array(rounding)})
    found = replace(off("updates", np.zeros_like), precision="float32")
    verdict = compare(found, reference)
    assert verdict["allowed"]["updates"] == pytest.approx(allowed)
    assert verdict["passed"] is False


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("factor", "passed"), [(0.98, True), (1.02, False)])
def test_tolerance_of_the_probes_precision_is_the_bound(group, factor, passed, precision):
    """The reference is in double precision, whatever the probe."""
    by = factor * ALLOWED[precision][group]
    by = np.exp(by) if group == "dropout" else 1 + by
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


@pytest.mark.parametrize("group", ["training", "evaluation"])
def test_one_more_right_answer_fails(group):
    metrics = getattr(REFERENCE, group) + np.array([[0, 1 / 16], [0, 0]])
    verdict = compare(replace(REFERENCE, **{group: metrics}), REFERENCE)
    assert verdict["reason"].startswith(f"{group} deviate by 6.2e-02 (accuracy)")


def test_other_number_of_parameters_fails_at_once():
    verdict = compare(replace(REFERENCE, parameters=421), REFERENCE)
    assert verdict["passed"] is False
    assert verdict["reason"] == "421 trainable parameters, 420 expected"


def test_every_failing_group_is_named():
    both = replace(off("loss", lambda value: value * 2), logits=REFERENCE.logits * 2)
    assert compare(both, REFERENCE)["reason"].count("deviate by") == 2


@pytest.mark.parametrize("group", ["logits", "gradients", "training", "evaluation"])
def test_array_of_another_shape_fails(group):
    found = off("gradients", lambda values: values[:, :1])
    if group != "gradients":
        found = replace(REFERENCE, **{group: getattr(REFERENCE, group)[:1]})
    verdict = compare(found, REFERENCE)
    assert verdict["passed"] is False
    assert group in verdict["reason"]


@pytest.mark.parametrize(("field", "group"), [("gradients", "gradients"), ("weights", "updates")])
def test_missing_array_fails(field, group):
    fewer = dict(getattr(REFERENCE, field))
    del fewer["0.dense.bias"]
    verdict = compare(replace(REFERENCE, **{field: fewer}), REFERENCE)
    assert verdict["passed"] is False
    assert f"{group} deviate by inf (0.dense.bias)" in verdict["reason"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_noise_where_nothing_should_be_counts_against_all_arrays(precision):
    """A bias before batch norm has no gradient: its rounding noise is no deviation of 100 %."""
    name = "2.conv2d.bias"

    def with_bias(noise: float) -> Observation:
        gradients = {**REFERENCE.gradients, name: np.full(4, noise)}
        return replace(REFERENCE, precision=precision, gradients=gradients)

    assert compare(with_bias(-1e-16), with_bias(1e-16))["passed"] is True
    whole = np.sqrt(sum(np.sum(array**2) for array in REFERENCE.gradients.values()))
    verdict = compare(with_bias(0.5), with_bias(1e-16))  # an array of norm 1
    assert verdict["passed"] is False
    expected = 1 / (FLOORS[precision] * whole)
    assert verdict["deviations"]["gradients"] == pytest.approx(expected, rel=1e-6)


def test_logits_are_measured_by_themselves():
    tiny = replace(REFERENCE, logits=REFERENCE.logits * 1e-12)
    verdict = compare(replace(tiny, logits=tiny.logits * 2), tiny)
    assert verdict["deviations"]["logits"] == pytest.approx(1)


@pytest.mark.parametrize(
    "dropout",
    [
        {},  # no draws at all
        {"losses": np.array([2.0, 2.0, 2.0]), "effect": np.array(0.25)},  # one draw for all seeds
        {"losses": np.array([2.0, 2.1, 2.2]), "effect": np.array(0.25)},  # none for a seed
        {"losses": np.array([2.0, 2.1, 2.0]), "effect": np.array(0.0)},
    ],
)
def test_dropout_that_its_seed_does_not_decide_fails(dropout):
    verdict = compare(replace(REFERENCE, dropout=dropout), REFERENCE)
    assert verdict["reason"].startswith("dropout deviate by inf")


def test_dropout_of_other_draws_passes():
    dropout = {"losses": np.array([2.5, 2.4, 2.5]), "effect": np.array(0.3)}
    assert compare(replace(REFERENCE, dropout=dropout), REFERENCE)["passed"] is True
