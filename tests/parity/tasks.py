"""Small workloads of every task but the usual one, with their data in memory and models of a line or two."""

import copy
from typing import Any

import numpy as np
from workspace import CONFIG

from paragone.base import plugins
from paragone.data import Dataset

LENGTH, WORDS, CLASSES = 6, 11, 4
PLAIN = {
    "initializer": "pytorch",
    "optimizer": {"name": "sgd", "momentum": 0.9},
    "learning_rate": {"base": 0.05},
    "global_batch": 16,
    "epochs": 1,
}
SCALE = {"divide": 2.0, "mean": 0.5, "std": 1.5}
WEIGHTS = {"class_weights": [0.5, 3.0, 0.0, 1.25]}
_LANGUAGE = {"name": "language-modeling"}
TASKS: dict[str, dict[str, Any]] = {
    "numbers": {
        "model": {"name": "mlp", "hidden": [12]},
        "task": {"name": "regression"},
        "input": SCALE,
    },
    "tagged-words": {"model": {"name": "of-words"}},
    "next-words": {"model": {"name": "of-words"}, "task": _LANGUAGE},
    "gpt-next-words": {
        "model": {"name": "gpt", "layers": 2, "heads": 2, "width": 8, "dropout": 0.0},
        "task": _LANGUAGE,
        "initializer": "gpt-2",
        "shuffle": "with_replacement",
        "evaluation": {"random_batches": 3},
        "optimizer": {"name": "adamw", "rule": "pytorch", "beta_1": 0.9, "beta_2": 0.99}
        | {"epsilon": 1e-8, "weight_decay": 0.1, "decays": "matrices", "clip_norm": 1.0},
    },
    "ranked": {
        "model": {"name": "mlp", "hidden": [12]},
        "task": {"name": "classification", "top5": True},
        "input": SCALE,
    },
    "ranked-words": {
        "model": {"name": "of-words"},
        "task": {"name": "classification", "top5": True, "ignored": True},
    },
    "pixels": {"model": {"name": "of-pixels"}, "input": SCALE},
    "weighted": {
        "model": {"name": "mlp", "hidden": [12]},
        "task": {"name": "classification", "label_smoothing": 0.1, **WEIGHTS, "rule": "keras"},
        "input": SCALE,
    },
    "ignored-words": {
        "model": {"name": "of-words"},
        "task": {"name": "classification", "ignored": True},
    },
    "weighted-pixels": {
        "model": {"name": "of-pixels"},
        "task": {"name": "classification", "label_smoothing": 0.2, "ignored": True}
        | {**WEIGHTS, "rule": "pytorch"},
        "input": SCALE,
    },
    "tags": {
        "model": {"name": "mlp", "hidden": [12]},
        "task": {"name": "multi-label"},
        "input": SCALE,
    },
}
CONFIGURED = copy.deepcopy(CONFIG)
CONFIGURED["workloads"] |= {
    name: {"dataset": name.replace("-", "_"), **PLAIN, **block} for name, block in TASKS.items()
}


def dataset(name: str, examples: int = 64) -> Dataset:
    """The data of a workload of `TASKS`."""
    random = np.random.default_rng(5)
    shape, labels, classes = (5, 4, 3), random.integers(CLASSES, size=(examples, 5, 4)), CLASSES
    if name in ("numbers", "weighted", "tags"):
        shape, labels = (7,), labels[:, 0, 0]
    if name == "tags":
        labels = (random.random((examples, CLASSES)) < [0.1, 0.3, 0.5, 0.7]).astype(int)
    if name == "numbers":
        shape, labels, classes = (7,), random.normal(20.0, 3.0, (examples, 2)), 0
    inputs = random.normal(size=(examples, *shape)).astype(np.float32)
    if name == "ranked":
        shape, labels, classes = (7,), random.integers(WORDS, size=examples), WORDS
    if words := name.endswith("words"):
        stream = random.integers(WORDS, size=(examples, LENGTH + 1)).astype(np.int32)
        inputs, labels = stream[:, :-1], stream[:, 1:] % CLASSES
        if name.endswith(("next-words", "ranked-words")):
            labels, classes = stream[:, 1:], WORDS
    if CONFIGURED["workloads"][name].get("task", {}).get("ignored"):
        labels = np.where(random.random(labels.shape) < 0.3, -1, labels)
    labels = labels.astype(np.int32 if classes else np.float32)
    return Dataset(
        name=name.replace("-", "_"),
        source="synthetic",
        edition="none",
        train_inputs=inputs,
        train_labels=labels,
        test_inputs=inputs[:32],
        test_labels=labels[:32],
        class_names=tuple(map(str, range(classes))),
        vocabulary=WORDS if words else None,
        manifest_sha256="0" * 64,
    )


def add_models(engine: str) -> None:
    """Add `of-words` and `of-pixels` to the models of an engine's framework."""
    if engine == "jax":
        from paragone.models import jax as models

        models.MODELS["of-words"] = lambda shape, classes, vocabulary: models.nnx.Sequential(
            models.Embedding(vocabulary, 5), models.dense(5, classes)
        )
        models.MODELS["of-pixels"] = lambda shape, classes: models.nnx.Sequential(
            models.conv(shape[2], classes, (1, 1))
        )
    elif engine == "tensorflow":
        from paragone.models import tensorflow as models

        keras, layers = models.keras, models.layers
        models.MODELS["of-words"] = lambda shape, classes, vocabulary: keras.Sequential(
            [layers.Input(shape), layers.Embedding(vocabulary, 5), layers.Dense(classes)]
        )
        models.MODELS["of-pixels"] = lambda shape, classes: keras.Sequential(
            [layers.Input(shape), layers.Conv2D(classes, 1)]
        )
    else:
        from paragone.models import torch as models

        nn = models.nn
        models.MODELS["of-words"] = lambda shape, classes, vocabulary: nn.Sequential(
            nn.Embedding(vocabulary, 5), nn.Linear(5, classes)
        )
        models.MODELS["of-pixels"] = lambda shape, classes: nn.Conv2d(shape[2], classes, 1)


def functions(engine: str) -> Any:
    """The module of `paragone.tasks` that an engine uses."""
    return plugins.load("tasks", "torch" if engine.startswith("torch") else engine)
