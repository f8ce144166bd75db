"""Workloads that differ from one of the config by an optimizer or a schedule, for the parity gate."""

import copy

from workspace import CONFIG

SGD = {"name": "sgd", "momentum": 0.9}
# By name: keys of the workload fashion-cnn in another form. The gate takes three steps of an epoch.
PROTOCOLS = {
    "cosine": {
        "optimizer": SGD,
        "learning_rate": {
            "base": 0.05,
            "unit": "step",
            "warmup": {"length": 2},
            "schedule": {"name": "cosine", "end": 0.1},
        },
    },
}
CONFIGURED = copy.deepcopy(CONFIG)
CONFIGURED["workloads"] |= {
    name: CONFIG["workloads"]["fashion-cnn"] | changes for name, changes in PROTOCOLS.items()
}
