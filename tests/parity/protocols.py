"""Workloads that differ from one of the config by an optimizer or a schedule, for the parity gate."""

import copy
from typing import Any

from workspace import CONFIG

from paragone.config.optimizer_keys import DEFAULTS

SGD = {"name": "sgd", "momentum": 0.9}
ADAM = {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-3}  # an epsilon that shows where it is added
DECAY = {"weight_decay": 0.1, "decays": "matrices"}
# Numbers that single precision has, to which Keras 2 rounds them.
NADAM = {"name": "nadam", "beta_1": 7 / 8, "beta_2": 63 / 64, "epsilon": 1e-6}
STEPS = {"base": 0.05, "decay": [{"after": 1, "factor": 0.1}]}
FASHION_CNN = CONFIG["workloads"]["fashion-cnn"]
COSINE = {"base": 0.05, "unit": "step", "schedule": {"name": "cosine", "end": 0.1}}
STEPLR = {"name": "steplr", "step_size": 2, "gamma": 0.5}
MULTISTEPLR = {"name": "multisteplr", "milestones": [2, 5], "gamma": 0.3}
# Those that the optimizers with the defaults of a framework take in turn.
RATES: list[dict[str, Any]] = [
    {"schedule": STEPLR},
    {"schedule": MULTISTEPLR},
    {"schedule": STEPLR, "unit": "step", "warmup": {"length": 3}},
    {"schedule": MULTISTEPLR, "unit": "step"},
    {"schedule": {"name": "exponential", "rate": 0.8}, "warmup": {"length": 1}},
]


def _of(optimizer: dict, rate: dict, **other: Any) -> dict[str, Any]:
    """A perceptron, which compiles in a second: rules do not depend on the model."""
    changes = {"model": {"name": "mlp", "hidden": [8]}, **other}
    return FASHION_CNN | changes | {"optimizer": optimizer, "learning_rate": rate}


# By name: a workload of the config in another form. The gate takes a few steps of three epochs.
PROTOCOLS = {
    # All that the loop must not get wrong, in one.
    "loop": FASHION_CNN
    | {"optimizer": SGD, "learning_rate": STEPS, "augmentation": {"shift": 0.2, "flip": True}},
    "cosine": _of(SGD, COSINE | {"warmup": {"length": 2}}),
    "partial": _of(SGD | {"momentum": 0.0}, {"base": 0.9})
    | {"model": {"name": "lenet"}, "initializer": "xavier"}
    | {"partial_batch": "keep", "shuffle_buffer": 20},
    # Examples that are held out, of those in the middle too.
    "validating": _of(SGD, STEPS, validation={"random": 0.3}, evaluation={"first": 20}),
    "nesterov": _of(SGD | {"nesterov": True, **DECAY}, STEPS),
    "adam": _of({"name": "adam", **ADAM, **DECAY}, {"base": 0.01}),
    "accumulating": _of({"name": "adamw", **ADAM, **DECAY, "accumulate": 2}, STEPS),
    "adamw": _of(
        {"name": "adamw", **ADAM, **DECAY, "rule": "pytorch", "clip_norm": 0.5},
        COSINE | {"base": 0.01, "warmup": {"length": 2}},
    ),
    "nadam": _of({"name": "nadam", **ADAM, **DECAY}, {"base": 0.01}),
    "nadam-pytorch": _of({"name": "nadam", **ADAM, **DECAY, "rule": "pytorch"}, {"base": 0.01}),
    "nadam-keras-2": CONFIG["workloads"]["reuters-cnn"]
    | {"optimizer": NADAM | {"rule": "keras-2"}, "learning_rate": {"base": 1 / 128}},
    "rmsprop": _of(
        {"name": "rmsprop", "rho": 0.9, "epsilon": 1e-3, "momentum": 0.5, **DECAY}, STEPS
    ),
    "rmsprop-keras": _of(
        {"name": "rmsprop", "rho": 0.9, "epsilon": 1e-3, "rule": "keras", **DECAY}, STEPS
    ),
    "adagrad": _of({"name": "adagrad", "initial": 0.1, "epsilon": 1e-2, **DECAY}, {"base": 0.05}),
    # Three channels, each scaled by itself.
    "channels": FASHION_CNN
    | {
        "dataset": "cats_vs_dogs",
        "input": {"divide": 255, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]},
        "augmentation": {"shift": 0.0, "flip": True},
    },
    # Narrow, and images enlarged by less.
    "resnet-18": CONFIG["workloads"]["resnet-18"]
    | {"model": {"name": "resnet-18", "width": 4, "resize": 41}},
}
# With the defaults of each framework, and a schedule; a perceptron has no words, of which keras-2 has a rule.
OF_DEFAULTS = [(source, name) for source, rules in DEFAULTS.items() for name in rules]
PROTOCOLS |= {
    f"{source}-{name}": _of(
        {"name": name, "defaults": source}, {"base": 0.02, **RATES[number % len(RATES)]}
    )
    for number, (source, name) in enumerate(OF_DEFAULTS)
}
# Those that a test takes: all, or one of each kind that an engine of PyTorch may get wrong where it compiles.
# Kinds: rates by step, a partial batch, gradients of several batches, clipping, a rule that PyTorch lacks.
TAKEN = {
    "all": [*PROTOCOLS],
    # It compiles for minutes, and PyTorch/XLA enlarges images in single precision: docs/backends.md.
    "but enlarged images": sorted({*PROTOCOLS} - {"resnet-18"}),
    "kinds": ["cosine", "partial", "accumulating", "adamw", "adagrad"],
}
CONFIGURED = copy.deepcopy(CONFIG)
CONFIGURED["workloads"] |= PROTOCOLS
