"""The parity gate's verdict: do two backends compute the same on the same weights and examples?

Deviations from the reference in double precision are relative in the Euclidean norm, ||a - b|| / ||b||; the
largest over a model's arrays counts. Weights and statistics are relative to their change during the steps: a
weight that never moved deviates by 1. Arrays that hardly change (the gradient of a convolution's bias before
batch norm is only noise) are relative to a share, `FLOORS`, of the norm of all arrays.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from paragone.base.errors import UserError
from paragone.models.weights import FROZEN, Weights, trainable
from paragone.records.measurements import ParityReport, ParityVerdict

# In double precision, in the order in which one deviation causes the next. The largest deviations seen on
# CPUs, mostly of MobileNetV2, as a deep network multiplies the error of a constant:
#
#              logits    loss   gradients  updates  statistics  training  evaluation
# torch        1e-13    5e-16     2e-13     6e-09     9e-10       4e-08      7e-08
# tensorflow   3e-13    3e-15     4e-13     3e-08     9e-12       6e-08      2e-08
# torch-xla    3e-13    6e-15     2e-12     4e-09     2e-07       4e-08      5e-08
#
# Metrics are summed in single precision, to which Keras rounds a constant of Nadam. The variances of
# torch-xla are of scaled inputs, see its engine.
TOLERANCES = {
    "logits": 1e-6,
    "loss": 1e-7,
    "gradients": 1e-5,
    "updates": 1e-4,
    "statistics": 1e-5,
    "training": 1e-4,
    "evaluation": 1e-4,
    "resumed": 1e-6,
    "dropout": 0.7,
}
IN_ANY_PRECISION = ("resumed", "dropout")  # where a backend is compared with itself
# Of a loss that is evaluated twice. Dropout of 1 % that is left on in evaluation moves it by 2e-4 to 8e-3.
REPEATED = 1e-5
# Tolerances of `first_steps` for running means, and for running variances, which are biased or unbiased.
TOLERANCES_OF_STATISTICS = {"means": 1e-5, "variances": 2e-2}
# In single precision workloads multiply rounding differently (a rectifier whose input is 0 up to the last
# digit may decide otherwise, Adam makes a full step of a gradient that is only rounding). Tolerances are
# therefore multiples of the reference's own deviation in single precision, capped so that an untrained run
# fails. They have a lower bound, as a loss is one number, which may agree by chance.
MULTIPLE, MOST = 10.0, 0.9
LEAST = {"training": 2e-3, "evaluation": 2e-3, "variances": 2e-2}
LEAST_OF_OTHERS = 5e-5
# What differs where a group is the first that deviates; logits that deviate by less than SMALL: a constant.
SMALL = 1e-2
LIKELY = {
    "logits": "the order or kind of a layer, the order of flattened features (PyTorch has channels first), "
    "or an initial value that only one of them has",
    "loss": "the loss",
    "gradients": "a layer whose gradient is stopped, or dropout that is not a layer",
    "updates": "the optimizer",
    "statistics": "batch norm: its momentum, or what it normalizes together",
    "training": "the batches, or their metrics",
    "evaluation": "what a layer does in evaluation alone: batch norm's statistics, or dropout",
    "resumed": "a state that checkpoints do not hold",
    "dropout": "the rate or the place of dropout",
}
# Arrays without a counterpart: how many are listed in a reason, and what to do.
LISTED = 8
PAIRING = (
    "create layers in the order in which they are applied, name free parameters alike, or write which belong "
    "together, `pairs: {theirs: ours}` of the workload's `model`"
)
SECOND_BIAS = (
    "recurrent layers of PyTorch have two biases, and training both is another update than of their sum: "
    "write `bias=False`, or freeze the second at zero, `lstm.bias_hh_l0.requires_grad_(False).zero_()`"
)
FLOORS = {"float64": 1e-3, "float32": 1e-2}


@dataclass(frozen=True)
class Observation:
    """What a backend computed on the initial weights, and in a short run.

    `training`, `evaluation`: rows of loss and scores, one an epoch, those of a validation split before those
    of the test split; with dropout a last one, in which the model with dropout evaluated the last weights.
    `counted`: whether the scores are shares of examples.
    `resumed`: how far the run deviates that was resumed at its last epoch. `notices`: what is legal and odd
    in the model. `path`: the framework's names of layers and free parameters, by name. `keeps_unbiased`: see
    `engines.Probe`. `dropout`: see `reference.dropped`; also `looped`, the first losses again, as the
    training loop seeds its epochs.

    Of the reference alone: `initial` weights; the `unbiased` variances for the biased ones in `weights`, and
    the `evaluation_unbiased` with them; `rounding`, the deviation of each group in single precision; `flop`,
    those of training on one example, 0 if they cannot be counted.
    """

    precision: str
    parameters: int
    logits: np.ndarray
    loss: np.ndarray
    training: np.ndarray
    evaluation: np.ndarray
    gradients: Weights
    weights: Weights
    counted: bool
    resumed: float = 0.0
    keeps_unbiased: bool = False
    notices: list[str] = field(default_factory=list)
    paths: Weights = field(default_factory=dict)
    initial: Weights = field(default_factory=dict)
    unbiased: Weights = field(default_factory=dict)
    evaluation_unbiased: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    dropout: Weights = field(default_factory=dict)
    rounding: Weights = field(default_factory=dict)
    flop: int = 0

    @classmethod
    def of(cls, arrays: Weights) -> "Observation":
        """Create it from the arrays that `observe` returns."""
        fields: dict[str, Any] = {}
        for key, values in arrays.items():
            group, _, name = key.partition("/")
            if name:
                fields.setdefault(group, {})[name] = values
            else:
                fields[key] = values
        for key in fields.keys() & {"precision", "parameters", "counted", "notices", "flop"}:
            fields[key] = fields[key].tolist()
        return cls(**fields)


def compare(
    observed: Observation | ParityVerdict, reference: Observation | ParityVerdict
) -> ParityVerdict:
    """Return the verdict on a backend. A probe without an observation is itself a verdict, see `read`."""
    if isinstance(observed, ParityVerdict):
        return observed
    if isinstance(reference, ParityVerdict):
        return ParityVerdict(False, f"nothing to compare with; reference: {reference.reason}")
    for name in sorted({*observed.gradients} ^ {*reference.gradients}):
        if f"{name}{FROZEN}" in observed.weights.keys() | reference.weights.keys():
            return ParityVerdict(False, f"{name} is frozen in one framework and trained in another")
    if reason := _unpaired(observed, reference):
        return ParityVerdict(False, reason)
    if observed.parameters != reference.parameters:
        reason = f"{observed.parameters} trainable parameters, {reference.parameters} expected"
        return ParityVerdict(False, reason)
    verdict = judge(deviations(observed, reference), observed.precision, reference.rounding)
    if verdict.reason:
        explained = f"{verdict.reason}; likely {_likely(verdict)}"
        verdict = msgspec.structs.replace(verdict, reason=explained)
    return msgspec.structs.replace(verdict, notices=observed.notices)


def _unpaired(observed: Observation, reference: Observation) -> str:
    """Return what arrays have no counterpart of their name and shape, side by side; empty if all have."""
    sides = _beyond(observed, reference), _beyond(reference, observed)
    rows = [f"{here} against {there}" for here, there in zip_longest(*sides, fillvalue="none")]
    biases = [row for row in rows if "recurrent_bias" in row]
    more = [f"{len(rows) - LISTED} more"] * (len(rows) > LISTED)
    remedies = [PAIRING] * (biases != rows) + [SECOND_BIAS] * bool(biases)
    said = "; ".join([*rows[:LISTED], *more, *remedies])
    return f"arrays without a counterpart, here against PyTorch: {said}" if rows else ""


def _beyond(this: Observation, other: Observation) -> list[str]:
    """Return own name, kind, part and shape of each array that the other has not, or in another shape."""
    rows = []
    for name, values in this.weights.items():
        if name not in other.weights or other.weights[name].shape != values.shape:
            layer, *part = name.rsplit(".", 2)
            rows.append(" ".join([str(this.paths.get(name, layer)), *part, str(values.shape)]))
    return rows


def _likely(verdict: ParityVerdict) -> str:
    for group, value in verdict.deviations.items():
        if group == "logits" and value is not None and verdict.allowed[group] < value < SMALL:
            return "a constant, such as the epsilon of a norm"
        if value is None or value > verdict.allowed[group]:
            return LIKELY[group]
    raise AssertionError("nothing deviates")


def judge(
    by_array: dict[str, dict[str, float]], precision: str, rounding: Weights
) -> ParityVerdict:
    """Return the verdict on deviations by group and array. `rounding`: see `Observation`."""
    deviations = largest(by_array)
    allowed = {group: _allowed(group, precision, rounding) for group in by_array}
    # Not `value > allowed`: a deviation that is not a number must fail.
    reason = "; ".join(
        f"{group} deviate by {value:.1e}{_where(by_array[group])}, allowed {allowed[group]:.0e}"
        for group, value in deviations.items()
        if not value <= allowed[group]
    )
    finite = {group: v if math.isfinite(v) else None for group, v in deviations.items()}
    return ParityVerdict(not reason, reason or None, finite, allowed)


def deviations(observed: Observation, reference: Observation) -> dict[str, dict[str, float]]:
    """Return the deviations by group and array; the name of a group's only array is empty."""
    floor = FLOORS[observed.precision]
    if observed.keeps_unbiased:
        reference = replace(
            reference,
            weights=reference.weights | reference.unbiased,
            evaluation=reference.evaluation_unbiased,
        )

    def changes(*, learned: bool) -> dict[str, float]:
        names = [name for name in reference.weights if trainable(name) == learned]
        expected = {name: reference.weights[name] for name in names}
        scales = {name: _difference(expected[name], reference.initial[name]) for name in names}
        return of_arrays(observed.weights, expected, scales, floor)

    by_array = {
        "logits": {"": _deviation(observed.logits, reference.logits)},
        "loss": {"": _deviation(observed.loss, reference.loss)},
        "gradients": of_arrays(observed.gradients, reference.gradients, reference.gradients, floor),
        "updates": changes(learned=True),
        "statistics": changes(learned=False),
        "training": of_metrics(observed.training, reference.training, reference.counted),
        "evaluation": _of_evaluation(observed, reference),
        "resumed": {"": float(observed.resumed)},
    }
    if reference.dropout:
        by_array["dropout"] = {"": _of_dropout(observed.dropout, reference.dropout)}
    return by_array


def largest(by_array: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the largest deviation of each group."""
    # Python's max may drop a NaN.
    return {
        group: float(np.max([*values.values()], initial=0.0)) for group, values in by_array.items()
    }


def _allowed(group: str, precision: str, rounding: Weights) -> float:
    if precision == "float64" or group in IN_ANY_PRECISION:
        return (TOLERANCES | TOLERANCES_OF_STATISTICS)[group]
    least = LEAST.get(group, LEAST_OF_OTHERS)
    return min(max(MULTIPLE * float(rounding[group]), least), MOST)


def _where(values: dict[str, float]) -> str:
    worst = max(values, key=lambda name: np.nan_to_num(values[name], nan=math.inf))
    return f" ({worst})" if worst else ""


def of_arrays(
    observed: Weights, reference: Weights, scales: Weights, floor: float
) -> dict[str, float]:
    """Return each array's deviation relative to the norm of its scale, at least `floor` times that of all."""
    least = floor * math.sqrt(sum(float(np.sum(values**2)) for values in scales.values()))
    return {
        name: _deviation(
            observed.get(name), values, max(float(np.linalg.norm(scales[name])), least)
        )
        for name, values in reference.items()
    }


def _deviation(observed: np.ndarray | None, reference: np.ndarray, scale: float = 0.0) -> float:
    if observed is None or observed.shape != reference.shape:
        return math.inf
    scale = scale or float(np.linalg.norm(reference))
    return float(np.linalg.norm(_difference(observed, reference)) / (scale or 1.0))


def _difference(observed: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the difference, 0 where both are equal, as masks of attention are minus infinity in both."""
    return np.subtract(
        observed, reference, out=np.zeros(observed.shape), where=observed != reference
    )


def of_metrics(
    observed: np.ndarray, reference: np.ndarray, counted: bool, tie: float = 0.0
) -> dict[str, float]:
    """Return the relative deviations of losses and errors, the absolute ones of accuracies, of such rows.

    `tie`: difference of accuracies that is ignored, for examples whose two largest logits are almost equal.
    """
    if observed.shape != reference.shape:
        return {"loss": math.inf}
    deviation, (loss, *errors) = np.abs(observed - reference).max(0), np.abs(reference).max(0)
    if not counted:
        return {"loss": float(deviation[0] / loss), "error": float(deviation[1] / errors[0])}
    # np.maximum, unlike Python's max, keeps a NaN.
    beyond = np.maximum(deviation[1:].max() - tie, 0.0)
    return {"loss": float(deviation[0] / loss), "accuracy": float(beyond)}


def _of_evaluation(observed: Observation, reference: Observation) -> dict[str, float]:
    """Return deviations; "dropout" is infinite if the last weights are evaluated otherwise with it."""
    expected, last = reference.evaluation, observed.evaluation[-2:, 0]
    if reference.dropout and not observed.dropout:  # which fails for that reason
        expected = expected[:-1]
    by_name = of_metrics(observed.evaluation, expected, reference.counted)
    if observed.dropout and not np.ptp(last) <= REPEATED * abs(last[0]):
        by_name["dropout"] = math.inf
    return by_name


def _of_dropout(observed: Weights, reference: Weights) -> float:
    """|log(a / b)| of the effects of dropout on logits, a here and b in the reference, which draws others.

    Infinite if the seed does not determine the loss: two seeds give the same, or the loop another one.
    """
    if not observed:
        return math.inf
    first, second, other = observed["losses"]
    if first == other or [*observed.get("looped", ())] != [first, second]:
        return math.inf
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(observed["effect"] / reference["effect"])))


def report(workload: str, reference: Path, probes: list[Path]) -> ParityReport:
    """Return the content of parity.json. The stem of a probe's file is the name of its backend."""
    expected = read(reference)
    verdicts = {path.stem: compare(read(path), expected) for path in probes}
    flop = expected.flop if isinstance(expected, Observation) else None
    return ParityReport(workload, verdicts, flop or None)


@cache  # a question asks again for each contest
def refusal(probes: tuple[Path, ...], backend: str) -> str | None:
    """Return why a backend failed the parity gate; None unless it did. `probes`: the reference's first."""
    probe = next((path for path in probes if path.stem == backend), None)
    verdict = compare(read(probe), read(probes[0])) if probe else None
    return f"not in parity: {verdict.reason}" if verdict and verdict.passed is False else None


def read(path: Path) -> Observation | ParityVerdict:
    """Read a file of `observe.write`: an observation, or the verdict on a probe that has none.

    Raises `UserError` if it has not what the gate judges today.
    """
    with np.load(path) as arrays:
        if "unavailable" in arrays:
            return ParityVerdict(None, str(arrays["unavailable"]))
        if "failed" in arrays:
            return ParityVerdict(False, f"the probe failed: {arrays['failed']}")
        try:
            return Observation.of(dict(arrays))
        except (KeyError, TypeError):
            raise UserError(
                f"{path}: another version of the parity gate wrote it; delete it and run again"
            ) from None
