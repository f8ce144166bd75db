"""Losses and scores of tasks in PyTorch. Shapes and divisors are those of `reference`; see there."""

import torch
from torch.nn import functional

from paragone.tasks import TOP, Task, check_outputs


def loss(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of a batch whose labels count alike. Raises as `check_outputs` does."""
    if task.rule == "keras":
        return losses(task, outputs, targets).mean()
    return _loss(task, outputs, targets, "mean")


def losses(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss of each example, (batch,)."""
    values = _loss(task, outputs, targets, "none")
    if task.rule == "keras":
        values = values * _class_weights(task, outputs)[targets.flatten()]
    return values if targets.ndim == 1 else values.reshape(len(targets), -1).mean(1)


def _loss(task: Task, outputs: torch.Tensor, targets: torch.Tensor, reduction: str) -> torch.Tensor:
    check_outputs(task, outputs.shape[1:], targets.shape[1:])
    if task.numeric:
        return functional.mse_loss(outputs, targets, reduction=reduction)
    if task.multi_label:
        return functional.binary_cross_entropy_with_logits(outputs, targets, reduction=reduction)
    return functional.cross_entropy(
        outputs.flatten(0, -2),
        targets.flatten(),
        weight=_class_weights(task, outputs) if task.rule == "pytorch" else None,
        ignore_index=-1,
        label_smoothing=task.label_smoothing,
        reduction=reduction,
    )


def _class_weights(task: Task, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(task.class_weights, dtype=like.dtype, device=like.device)


def weights(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return what each example counts in the divisor of the loss, (batch,)."""
    if not task.weighs:
        return outputs.new_ones(len(targets))
    values = (targets >= 0).to(outputs.dtype)
    if task.rule == "pytorch":
        values = values * _class_weights(task, outputs)[targets]
    return values if targets.ndim == 1 else values.flatten(1).mean(1)


def scores(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
    """Return `task.scores` of each example, each (batch,)."""
    if task.numeric:
        return [(outputs - targets).abs().flatten(1).mean(1)]
    if task.multi_label:
        return [2 * ((outputs > 0) * targets).mean(1)]
    right = [outputs.argmax(-1) == targets]
    if task.top5:
        places, classes = targets.clamp(min=0)[..., None], outputs.shape[-1]
        score, numbers = outputs.gather(-1, places), torch.arange(classes, device=places.device)
        behind = (outputs < score) | ((outputs == score) & (numbers >= places))
        right.append((behind.sum(-1) > classes - TOP) & (targets >= 0))
    if targets.ndim == 1:
        return right
    return [values.to(outputs.dtype).flatten(1).mean(1) for values in right]


def counts(task: Task, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return what each example counts in the divisor of the score, (batch,)."""
    if task.multi_label:
        return (outputs > 0).to(outputs.dtype).mean(1) + targets.mean(1)
    if task.ignored:
        return (targets >= 0).to(outputs.dtype).flatten(1).mean(1)
    return outputs.new_ones(len(targets))
