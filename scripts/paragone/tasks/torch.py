"""Losses and scores of tasks in PyTorch. Shapes are those of `reference`; see there."""

import torch
from torch.nn import functional

from paragone.tasks import Task, check_outputs


def targets_of(task: Task, labels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Stored labels as the loss takes them: classes as int64, numbers as `dtype`."""
    return labels.to(dtype) if task.numeric else labels.long()


def loss(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean loss of a batch. Raises as `check_outputs` does."""
    return _loss(task, outputs, targets, "mean")


def losses(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of each example, (batch,)."""
    each = _loss(task, outputs, targets, "none")
    return each if targets.ndim == 1 else each.reshape(len(targets), -1).mean(1)


def _loss(task: Task, outputs: torch.Tensor, targets: torch.Tensor, reduction: str) -> torch.Tensor:
    check_outputs(task, outputs.shape[1:], targets.shape[1:])
    if task.numeric:
        return functional.mse_loss(outputs, targets, reduction=reduction)
    return functional.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction=reduction)


def scores(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The score of each example, (batch,)."""
    if task.numeric:
        return (outputs - targets).abs().flatten(1).mean(1)
    right = outputs.argmax(-1) == targets
    return right if targets.ndim == 1 else right.to(outputs.dtype).flatten(1).mean(1)
