"""Workloads that differ from one of the config by an optimizer or a schedule, for the parity gate."""

import copy
from typing import Any

from workspace import CONFIG

SGD = {"name": "sgd", "momentum": 0.9}
ADAM = {"beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-3}  # an epsilon that shows where it is added
DECAY = {"weight_decay": 0.1, "decays": "matrices"}
STEPS = {"base": 0.05, "decay": [{"after": 1, "factor": 0.1}]}
COSINE = {"base": 0.05, "unit": "step", "schedule": {"name": "cosine", "end": 0.1}}


def _of(optimizer: dict, rate: dict) -> dict[str, Any]:
    return {"optimizer": optimizer, "learning_rate": rate}


# By name: keys of the workload fashion-cnn in another form. The gate takes three steps of an epoch.
PROTOCOLS = {
    "cosine": _of(SGD, COSINE | {"warmup": {"length": 2}}),
    "nesterov": _of(SGD | {"nesterov": True, "weight_decay": 0.1}, STEPS),
    "dampened": _of(
        SGD
        | {"dampening": 0.5, "clip_value": 0.01, "weight_decay": 0.1, "decoupled": True}
        | {"decays": ["*.kernel"]},
        {"base": 0.05},
    ),
    "adam": _of({"name": "adam", **ADAM, **DECAY}, {"base": 0.01}),
    "adamw": _of(
        {"name": "adamw", **ADAM, **DECAY, "rule": "pytorch", "clip_norm": 0.5},
        COSINE | {"base": 0.01, "warmup": {"length": 2}},
    ),
    "nadam": _of({"name": "nadam", **ADAM, **DECAY, "decoupled": True}, {"base": 0.01}),
    "rmsprop": _of(
        {"name": "rmsprop", "rho": 0.9, "epsilon": 1e-4, "centered": True, **DECAY}, {"base": 0.01}
    ),
    "rmsprop-pytorch": _of(
        {"name": "rmsprop", "rho": 0.9, "epsilon": 1e-3, "momentum": 0.5, "rule": "pytorch"}, STEPS
    ),
    "adagrad": _of({"name": "adagrad", "initial": 0.1, "epsilon": 1e-2, **DECAY}, {"base": 0.05}),
    "adagrad-pytorch": _of(
        {"name": "adagrad", "initial": 0.0, "epsilon": 1e-2, "rule": "pytorch"}, {"base": 0.05}
    ),
}
CONFIGURED = copy.deepcopy(CONFIG)
CONFIGURED["workloads"] |= {
    name: CONFIG["workloads"]["fashion-cnn"] | changes for name, changes in PROTOCOLS.items()
}
