"""The keys of optimizers, and the defaults of frameworks. docs/configuration.md is made from them."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import ABSENT, Fraction, NotNegative, Positive

Rule = Literal["keras", "pytorch", "keras-2"]


class Optimizer(msgspec.Struct):
    """By one rule in every framework, or one framework's own; see docs/protocols.md

    name: update rule: sgd, adam, adamw, nadam, rmsprop, adagrad, or a framework's own
    """

    name: str


class Common(Optimizer, forbid_unknown_fields=True, kw_only=True):
    """What every optimizer of the project can have

    defaults: keys that are left out, and the base of the learning rate, are those that an
        optimizer of this name has in this framework; the record has them as numbers
    clip_norm: gradients are scaled so that the norm of all together is at most this
    weight_decay: this times the weight is added to its clipped gradient
    accumulate: an update is taken after so many batches, by the mean of their gradients; 1 if
        absent
    decays: the arrays that decay: all, or those of two or more dimensions
    """

    defaults: Literal["keras-2", "keras-3", "pytorch"] = ABSENT
    clip_norm: Positive = ABSENT
    weight_decay: Positive = ABSENT
    accumulate: Annotated[int, Meta(ge=2)] = ABSENT
    decays: Literal["all", "matrices"] = "all"

    def __post_init__(self) -> None:
        if getattr(self, "rule", None) == "keras-2" and self.name != "nadam":
            raise ValueError("has rule keras-2, which is of nadam alone; write keras or pytorch")
        if self.decays != "all" and not self.weight_decay:
            raise ValueError("has decays and no weight_decay; add it, or leave both out")


class Sgd(Common, kw_only=True):
    """Stochastic gradient descent

    momentum: share of the last update that is added; 0 for none
    nesterov: Nesterov's momentum
    """

    momentum: Fraction
    nesterov: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and not self.momentum:
            raise ValueError("has nesterov and no momentum; leave it out")


class Adam(Common, kw_only=True):
    """Adam

    beta_1: decay of the mean of gradients
    beta_2: decay of the mean of squared gradients
    epsilon: added to the root of the mean square, where the rule has it
    rule: whose rule of this name, where frameworks differ (keras-2: of nadam alone); see
        docs/protocols.md
    """

    beta_1: Fraction
    beta_2: Fraction
    epsilon: Positive
    rule: Rule = "keras"


class AdamW(Adam, kw_only=True):
    """Adam with decoupled weight decay

    weight_decay: this times the weight is added to what the learning rate multiplies
    """

    weight_decay: Positive


class Nadam(Adam, kw_only=True):
    """Adam with Nesterov's momentum

    deduplicate: add the gradients of a word that a batch repeats before they are squared
    """

    deduplicate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule == "keras-2" and not self.deduplicate:
            raise ValueError(
                "has deduplicate: false, which is not of rule keras-2; leave one of them out"
            )
        changed = self.clip_norm or self.weight_decay or self.accumulate
        if changed and (self.rule == "keras-2" or not self.deduplicate):
            raise ValueError(
                "has a rule for raw gradients of words (deduplicate: false, or keras-2); leave it out, or "
                "clip_norm, weight_decay and accumulate"
            )


class Rmsprop(Common, kw_only=True):
    """The gradient divided by the root of a mean of its squares

    rho: decay of the mean of squared gradients
    momentum: share of the last update that is added; 0 for none
    epsilon: added to the root of the mean square, or under it, where the rule has it
    rule: pytorch, or keras, which has no momentum here; see docs/protocols.md
    """

    rho: Fraction
    epsilon: Positive
    momentum: Fraction = 0.0
    rule: Literal["keras", "pytorch"] = "pytorch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule == "keras" and self.momentum:
            raise ValueError(
                "has momentum and rule keras, whose velocity sums rates, too; leave one of them out, or name "
                "keras.optimizers.RMSprop"
            )


class Adagrad(Common, kw_only=True):
    """The gradient divided by the root of the sum of its squares

    initial: the sum of squares at the beginning
    epsilon: added to the root of the sum of squares
    """

    initial: NotNegative
    epsilon: Positive


# The keys of the project's optimizers; a framework's own may have any.
OPTIMIZERS = {
    "sgd": Sgd,
    "adam": Adam,
    "adamw": AdamW,
    "nadam": Nadam,
    "rmsprop": Rmsprop,
    "adagrad": Adagrad,
}

_SGD = {"base": 0.01, "momentum": 0.0, "nesterov": False}
_ADAM = {"base": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "rule": "keras"}
_OF_TORCH = _ADAM | {"epsilon": 1e-8, "rule": "pytorch"}
_RMSPROP = {"base": 0.001, "rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "rule": "pytorch"}
# By framework and optimizer what a program has that sets nothing; `base`: the learning rate. keras-2: from
# 2.1 to TensorFlow 2.10, whose Nadam had two rates. An optimizer of another rule than ours is not here.
DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "keras-2": {
        "sgd": _SGD,
        "adam": _ADAM,
        "nadam": {k: v for k, v in _ADAM.items() if k != "base"} | {"rule": "keras-2"},
        "rmsprop": _RMSPROP,
    },
    "keras-3": {
        "sgd": _SGD,
        "adam": _ADAM,
        "adamw": _ADAM | {"weight_decay": 0.004},
        "nadam": _ADAM,
        "rmsprop": _RMSPROP | {"rule": "keras"},
        "adagrad": {"base": 0.001, "initial": 0.1, "epsilon": 1e-7},
    },
    "pytorch": {
        "sgd": _SGD | {"base": 0.001},
        "adam": _OF_TORCH,
        "adamw": _OF_TORCH | {"weight_decay": 0.01},
        "nadam": _OF_TORCH | {"base": 0.002},
        "rmsprop": _RMSPROP | {"base": 0.01, "rho": 0.99, "epsilon": 1e-8},
    },
}
