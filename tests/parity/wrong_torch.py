"""Bugs of PyTorch's engines, eager and lazy; see wrong_engines.py."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from parity.wrong_engines import Bugs, Plant, after_build, wrapped
from torch import distributed, nn
from torch.nn import functional

from paragone.data.batches import Shard
from paragone.engines import torch_fsdp, torch_optimizers
from paragone.engines.torch import Torch
from paragone.models import torch as models


def sum_for_mean(right: Callable, engine: Any, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
    logits = engine.forward(inputs)
    return logits, functional.cross_entropy(logits, labels, reduction="sum")


def gradients(change: Callable[[list[nn.Parameter]], Any]) -> Callable:
    """Change the gradients before the optimizer's step."""
    return wrapped("reduce_gradients", lambda right, engine: change([*engine.model.parameters()]))


def evaluates_in_training(right: Callable, engine: Any, *batch: torch.Tensor) -> tuple:
    engine.model.eval()
    return right(engine, *batch)


def trains_in_evaluation(engine: Any) -> None:
    engine.model.eval = engine.model.train


def drops_in_evaluation(engine: Any) -> None:
    def evaluate() -> None:
        for module in engine.model.modules():
            module.training = isinstance(module, nn.Dropout)

    engine.model.eval = evaluate


def in_every_group(**options: Any) -> Callable:
    """Change options of the built optimizer."""

    def change(engine: Any) -> None:
        for group in engine.optimizer.param_groups:
            group |= options

    return after_build(change)


def epsilon_after_the_correction(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(torch_optimizers.AdamEpsilonHat, "step", torch.optim.Adam.step)


def moments_of_absent_words_stay(patch: pytest.MonkeyPatch, engine: type) -> None:
    right = torch_optimizers.NAdamOfSeenWords.step

    def step(self: torch_optimizers.NAdamOfSeenWords) -> None:
        (weight,) = self._sums
        state = self.state[weight]
        before = {key: state[key].clone() for key in ("exp_avg", "exp_avg_sq")}
        right(self)
        absent = self._sums[weight].grad == 0
        for key, values in before.items():
            state[key][absent] = values[absent]

    patch.setattr(torch_optimizers.NAdamOfSeenWords, "step", step)


def not_in_a_checkpoint(key: str) -> Plant:
    """Load a checkpoint without a part of the optimizer's state, which begins anew."""

    def load(right: Callable, engine: Any, folder: Any) -> None:
        right(engine, folder)
        for state in engine.optimizer.state.values():
            state[key].zero_()

    return wrapped("load", load)


def flattened_in_another_order(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(models.FlattenChannelsLast, "forward", lambda self, features: features.flatten(1))


def momentum_of_batch_norm(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setitem(models.KERAS_BATCH_NORM, "momentum", 0.1)


def seed_of_another_device(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(engine, "set_seed", lambda self, seed: torch.manual_seed(seed))


WRONG: Bugs = {
    ("fashion-cnn", "logits"): {"features-flattened-in-another-order": flattened_in_another_order},
    ("fashion-cnn", "loss"): {
        "sum-for-mean": wrapped("loss", sum_for_mean),
    },
    ("fashion-cnn", "gradients"): {
        "gradients-add-up": after_build(
            lambda engine: setattr(engine.optimizer, "zero_grad", lambda: None)
        ),
    },
    ("fashion-cnn", "updates"): {
        "batch-norm-evaluates-in-training": wrapped("train_step", evaluates_in_training),
    },
    ("fashion-cnn", "statistics"): {
        "batch-norm-trains-in-evaluation": after_build(trains_in_evaluation),
    },
    ("fashion-conv", "updates"): {
        "frozen-layer": gradients(lambda weights: weights[0].grad.zero_()),
        "epsilon-after-the-correction": epsilon_after_the_correction,
    },
    ("reuters-cnn", "updates"): {
        "nadam-without-its-schedule": in_every_group(momentum_decay=0.0),
    },
    ("accumulating", "updates"): {
        "sum-of-gradients": gradients(lambda weights: [weight.grad.mul_(2) for weight in weights]),
    },
    ("accumulating", "resumed"): {"gradients-not-kept": not_in_a_checkpoint("gradients")},
    ("nadam-keras-2", "updates"): {"moments-of-absent-words-stay": moments_of_absent_words_stay},
    ("wide-resnet", "statistics"): {"momentum-of-batch-norm": momentum_of_batch_norm},
    ("wide-resnet", "evaluation"): {"dropout-in-evaluation": after_build(drops_in_evaluation)},
    ("wide-resnet", "dropout"): {"seed-of-another-device": seed_of_another_device},
}
# By backend, the bugs that it cannot have: PyTorch's seed is its own, and XLA refuses the shapes.
WITHOUT = {"torch": ["seed-of-another-device"], "torch-xla": ["batch-norm-evaluates-in-training"]}


def end_of_epoch(of_buffer: Callable[[torch.Tensor], Any]) -> Callable:
    """Unite the running statistics of batch norm wrongly."""

    def wrong(right: Callable, engine: Any) -> None:
        for buffer in engine.model.buffers():
            of_buffer(buffer)

    return wrapped("end_of_epoch", wrong)


def metrics_of_the_first_replica(right: Callable, engine: Any, totals: torch.Tensor) -> Any:
    return Torch.metrics(engine, totals)


def meshes_of_one(patch: pytest.MonkeyPatch, engine: type) -> None:
    right = torch_fsdp.init_device_mesh

    def create(kind: str, shape: tuple[int]) -> Any:
        return right(kind, (*shape, 1), mesh_dim_names=("each", "own"))["own"]

    patch.setattr(torch_fsdp, "init_device_mesh", create)


OF_REPLICAS = {
    "torch-ddp": {
        "replicas-on-their-own": after_build(
            lambda engine: setattr(engine, "wrapped", engine.model)
        ),
        "statistics-of-the-second-replica": end_of_epoch(
            lambda buffer: distributed.broadcast(buffer, src=1)
        ),
        "weights-of-each-replica": wrapped("per_replica", lambda right, engine, total: total),
        "metrics-of-the-first-replica": wrapped("metrics", metrics_of_the_first_replica),
        "each-replica-has-the-first-part": after_build(
            lambda engine: setattr(engine, "shard", Shard(0, 1, 2))
        ),
    },
    "torch-fsdp": {
        "statistics-twice-those-of-the-first-replica": end_of_epoch(lambda buffer: buffer.mul_(2)),
        "replicas-on-their-own": meshes_of_one,
        "metrics-of-the-first-replica": wrapped("metrics", metrics_of_the_first_replica),
    },
}
