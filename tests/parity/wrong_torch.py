"""Bugs of PyTorch's engines, eager and lazy; see wrong_engines.py."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from parity.wrong_engines import WrongEngine, after_build, wrapped
from torch import distributed, nn
from torch.nn import functional

from paragone.engines import torch_fsdp, torch_optimizers
from paragone.models import torch as models


def loss(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable:
    """Another loss of (logits, labels)."""

    def wrong(right: Callable, engine: Any, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
        logits = engine.forward(inputs)
        return logits, function(logits, labels)

    return wrapped("loss", wrong)


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


def flattened_in_another_order(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(models.FlattenChannelsLast, "forward", lambda self, features: features.flatten(1))


def momentum_of_batch_norm(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setitem(models.KERAS_BATCH_NORM, "momentum", 0.1)


def seed_of_another_device(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(engine, "set_seed", lambda self, seed: torch.manual_seed(seed))


WRONG = [
    WrongEngine(
        "gradients-add-up",
        "fashion-cnn",
        "updates",
        after_build(lambda engine: setattr(engine.optimizer, "zero_grad", lambda: None)),
    ),
    WrongEngine(
        "sum-for-mean",
        "fashion-cnn",
        "loss",
        loss(lambda logits, labels: functional.cross_entropy(logits, labels, reduction="sum")),
    ),
    WrongEngine(
        "smoothed-labels",
        "fashion-cnn",
        "loss",
        loss(lambda logits, labels: functional.cross_entropy(logits, labels, label_smoothing=0.01)),
    ),
    WrongEngine(
        "frozen-layer",
        "fashion-conv",
        "updates",
        gradients(lambda weights: weights[0].grad.zero_()),
    ),
    WrongEngine(
        "clipped-gradient",
        "fashion-cnn",
        "updates",
        gradients(lambda weights: nn.utils.clip_grad_norm_(weights, 0.5)),
    ),
    WrongEngine(
        "batch-norm-evaluates-in-training",
        "fashion-cnn",
        "updates",
        wrapped("train_step", evaluates_in_training),
        without=("torch-xla",),  # XLA refuses the shapes
    ),
    WrongEngine(
        "batch-norm-trains-in-evaluation",
        "fashion-cnn",
        "evaluation",
        after_build(trains_in_evaluation),
    ),
    WrongEngine(
        "dropout-in-evaluation",
        "wide-resnet",
        "evaluation",
        after_build(drops_in_evaluation),
    ),
    WrongEngine("weight-decay", "fashion-cnn", "updates", in_every_group(weight_decay=1e-3)),
    WrongEngine(
        "epsilon-after-the-correction", "fashion-conv", "updates", epsilon_after_the_correction
    ),
    WrongEngine(
        "nadam-without-its-schedule", "reuters-cnn", "updates", in_every_group(momentum_decay=0.0)
    ),
    WrongEngine(
        "features-flattened-in-another-order", "fashion-cnn", "logits", flattened_in_another_order
    ),
    WrongEngine("momentum-of-batch-norm", "wide-resnet", "statistics", momentum_of_batch_norm),
    WrongEngine(
        "seed-of-another-device",
        "wide-resnet",
        "dropout",
        seed_of_another_device,
        without=("torch",),  # its own
    ),
]


def end_of_epoch(of_buffer: Callable[[torch.Tensor], Any]) -> Callable:
    """Unite the running statistics of batch norm wrongly."""

    def wrong(right: Callable, engine: Any) -> None:
        for buffer in engine.model.buffers():
            of_buffer(buffer)

    return wrapped("end_of_epoch", wrong)


def meshes_of_one(patch: pytest.MonkeyPatch, engine: type) -> None:
    right = torch_fsdp.init_device_mesh

    def create(kind: str, shape: tuple[int]) -> Any:
        return right(kind, (*shape, 1), mesh_dim_names=("each", "own"))["own"]

    patch.setattr(torch_fsdp, "init_device_mesh", create)


OF_REPLICAS = {
    "torch-ddp": [
        WrongEngine(
            "replicas-on-their-own",
            "fashion-cnn",
            "updates",
            after_build(lambda engine: setattr(engine, "wrapped", engine.model)),
        ),
        WrongEngine(
            "statistics-of-the-second-replica",
            "fashion-cnn",
            "means",
            end_of_epoch(lambda buffer: distributed.broadcast(buffer, src=1)),
        ),
    ],
    "torch-fsdp": [
        WrongEngine(
            "statistics-twice-those-of-the-first-replica",
            "fashion-cnn",
            "means",
            end_of_epoch(lambda buffer: buffer.mul_(2)),
        ),
        WrongEngine("replicas-on-their-own", "fashion-cnn", "updates", meshes_of_one),
    ],
}
