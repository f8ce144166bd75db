"""The parity gate's verdict."""

from dataclasses import replace

import numpy as np
import pytest

from paragone.base.errors import UserError
from paragone.parity.compare import (
    FLOORS,
    IN_ANY_PRECISION,
    TOLERANCES,
    Observation,
    compare,
    read,
)

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
    counted=True,
    dropout={
        "looped": np.array([2.0, 2.1]),
        "losses": np.array([2.0, 2.1, 2.2]),
        "effect": np.array(0.25),
    },
    rounding={name: np.array(4e-3) for name in TOLERANCES},
)
PRECISIONS = sorted(FLOORS)
OF_ITSELF = {name: TOLERANCES[name] for name in IN_ANY_PRECISION}
ALLOWED = {"float64": TOLERANCES, "float32": dict.fromkeys(TOLERANCES, 4e-2) | OF_ITSELF}
# Of each group, the field that has its arrays, and one of them.
CHANGED = {
    "updates": ("weights", "0.dense.bias"),
    "statistics": ("weights", "1.batch_norm.moving_mean"),
}


def test_arrays_without_a_counterpart_are_listed_side_by_side_with_their_shapes():
    right = replace(
        REFERENCE,
        weights=REFERENCE.weights | {"1.lstm.recurrent_bias": np.zeros(12)},
        paths={"0.dense.bias": "head", "1.lstm.recurrent_bias": "rows"},
    )
    weights = REFERENCE.weights | {
        "0.dense.bias": np.zeros(9),
        "token.parameter.values": np.ones(1),
    }
    verdict = compare(replace(REFERENCE, weights=weights, paths={"0.dense.bias": "b"}), right)
    assert verdict.passed is False
    shape = REFERENCE.weights["0.dense.bias"].shape
    assert f"b dense bias (9,) against head dense bias {shape}" in verdict.reason
    assert "token parameter values (1,) against rows lstm recurrent_bias (12,);" in verdict.reason
    assert "pairs: {theirs: ours}" in verdict.reason
    assert "bias_hh_l0" in verdict.reason


def off(group: str, change) -> Observation:
    """The reference with one array of a group changed; of weights, what the steps changed of it."""
    if group in CHANGED:
        arrays, name = CHANGED[group]
        changed = trained(INITIAL, UPDATES | {name: change(UPDATES[name])})
        return replace(REFERENCE, **{arrays: changed})
    value = getattr(REFERENCE, group)
    if group == "resumed":
        return replace(REFERENCE, resumed=change(np.array(1.0)) - 1)
    if group in ("gradients", "dropout"):
        name = {"gradients": "0.dense.bias", "dropout": "effect"}[group]
        return replace(REFERENCE, **{group: {**value, name: change(value[name])}})
    if group in ("training", "evaluation"):
        return replace(REFERENCE, **{group: np.stack([change(value[:, 0]), value[:, 1]], 1)})
    return replace(REFERENCE, **{group: change(value)})


def test_equal_observations_pass():
    verdict = compare(REFERENCE, REFERENCE)
    assert (verdict.passed, verdict.reason) == (True, None)
    assert verdict.deviations == dict.fromkeys(TOLERANCES, 0)
    assert verdict.allowed == TOLERANCES
    assert all(0 < value <= 1e-4 for group, value in TOLERANCES.items() if group != "dropout")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("group", TOLERANCES)
def test_the_tolerance_of_the_probes_precision_is_the_bound(group, precision):
    """Deviations are relative to the reference, which is in double precision whatever the probe."""
    for factor in (0.98, 1.02):
        by = factor * ALLOWED[precision][group]
        scale = np.exp(by) if group == "dropout" else 1 + by
        changed = off(group, lambda values, scale=scale: values * scale)
        verdict = compare(replace(changed, precision=precision), REFERENCE)
        assert verdict.deviations[group] == pytest.approx(by, rel=1e-3)
        assert verdict.passed is (factor < 1)
    for value in (np.nan, np.inf):
        changed = off(group, lambda values, value=value: np.full_like(values, value))
        verdict = compare(replace(changed, precision=precision), REFERENCE)
        assert verdict.passed is False
        assert group in verdict.reason


@pytest.mark.parametrize(("rounding", "allowed"), [(1e-9, 5e-5), (1e-3, 1e-2), (0.5, 0.9)])
def test_single_precision_may_cost_ten_times_what_it_costs_the_reference(rounding, allowed):
    """Weights that never moved are off by all of their update, and do not pass, however much that is."""
    reference = replace(REFERENCE, rounding={**REFERENCE.rounding, "updates": np.array(rounding)})
    verdict = compare(replace(off("updates", np.zeros_like), precision="float32"), reference)
    assert verdict.allowed["updates"] == pytest.approx(allowed)
    assert verdict.deviations["updates"] == pytest.approx(1)
    assert verdict.passed is False
    assert "(0.dense.bias)" in verdict.reason


MORE_RIGHT = np.array([[0, 1 / 16], [0, 0]])
WITHOUT_BIAS = {"0.dense.kernel": REFERENCE.gradients["0.dense.kernel"]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": 421}, ["421 trainable parameters, 420 expected"]),
        ({"training": REFERENCE.training + MORE_RIGHT}, ["training deviate by 6.2e-02 (accuracy)"]),
        ({"logits": REFERENCE.logits[:1]}, ["logits deviate by"]),
        ({"weights": WITHOUT_BIAS}, ["none against 0 dense bias", "1 batch_norm moving_mean"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_is_missing_or_of_another_shape_fails_and_every_group_is_named(changes, words):
    verdict = compare(replace(REFERENCE, **changes), REFERENCE)
    assert verdict.passed is False
    assert [word for word in words if word not in verdict.reason] == []


@pytest.mark.parametrize("precision", PRECISIONS)
def test_noise_where_nothing_should_be_counts_against_all_arrays(precision):
    """A bias before batch norm has no gradient: its rounding noise is no deviation of 100 %."""

    def with_bias(noise: float) -> Observation:
        gradients = {**REFERENCE.gradients, "2.conv2d.bias": np.full(4, noise)}
        return replace(REFERENCE, precision=precision, gradients=gradients)

    assert compare(with_bias(-1e-16), with_bias(1e-16)).passed is True
    whole = np.sqrt(sum(np.sum(array**2) for array in REFERENCE.gradients.values()))
    verdict = compare(with_bias(0.5), with_bias(1e-16))  # an array of norm 1
    assert verdict.passed is False
    expected = 1 / (FLOORS[precision] * whole)
    assert verdict.deviations["gradients"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("looped", "losses", "effect", "passed"),
    [
        ([2.5, 2.4], [2.5, 2.4, 2.3], 0.3, True),  # other draws
        ([2.0, 2.1], [2.0, 2.1, 2.0], 0.25, False),  # one draw for all seeds
        ([2.3, 2.1], [2.0, 2.1, 2.2], 0.25, False),  # none for a seed
        ([2.0, 2.2], [2.0, 2.1, 2.2], 0.25, False),  # another seed in the loop
        ([2.0, 2.1], [2.0, 2.1, 2.2], 0.0, False),
    ],
)
def test_dropout_must_be_decided_by_its_seed(looped, losses, effect, passed):
    values = {"looped": looped, "losses": losses, "effect": effect}
    dropout = {name: np.array(value) for name, value in values.items()}
    verdict = compare(replace(REFERENCE, dropout=dropout), REFERENCE)
    assert verdict.passed is passed
    assert passed or verdict.reason.startswith("dropout deviate by inf")


@pytest.mark.parametrize(("by", "passed"), [(1e-6, True), (1e-4, False)])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_model_with_dropout_must_evaluate_as_without(precision, by, passed):
    """By a backend itself on the same weights: in single precision, too, where the gate allows 4 %."""
    evaluation = REFERENCE.evaluation * [[1, 1], [1 + by, 1]]
    verdict = compare(replace(REFERENCE, precision=precision, evaluation=evaluation), REFERENCE)
    assert verdict.passed is passed
    assert passed or verdict.reason.startswith("evaluation deviate by inf (dropout)")


def test_a_model_that_lacks_dropout_is_refused_for_that_alone():
    lacking = replace(REFERENCE, dropout={}, evaluation=REFERENCE.evaluation[:-1])
    assert compare(lacking, REFERENCE).reason.startswith("dropout deviate by inf")


def test_a_probe_of_another_version_is_refused_by_its_file(tmp_path):
    path = tmp_path / "torch.npz"
    np.savez(path, precision="float64", parameters=3, logits=np.zeros(2))
    with pytest.raises(UserError, match=r"torch\.npz: another version .*; delete it and run again"):
        read(path)
