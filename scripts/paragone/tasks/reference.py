"""Losses and scores in NumPy, written from their definitions, with the gradients of the losses."""

import numpy as np

from paragone.tasks import Task


def losses(task: Task, outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss of each example, (batch,), and its gradient with respect to the outputs.

    outputs: (batch, ..., classes) logits, and targets (batch, ...) of classes; or both (batch, targets) of
    numbers. The loss of an example is the mean over its positions, or its targets.
    """
    batch, each = len(outputs), targets[0].size
    if task.numeric:
        error = outputs - targets
        return (error**2).reshape(batch, -1).mean(1), 2 * error / each
    shifted = outputs - outputs.max(-1, keepdims=True)
    log_chances = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    wanted = np.arange(outputs.shape[-1]) == targets[..., None]
    of_positions = -(wanted * log_chances).sum(-1)
    gradient = np.exp(log_chances) - wanted
    return of_positions.reshape(batch, -1).mean(1), gradient.astype(outputs.dtype) / each


def scores(task: Task, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The score of each example, (batch,): the share of positions that are right, or the absolute error."""
    each = np.abs(outputs - targets) if task.numeric else outputs.argmax(-1) == targets
    return each.reshape(len(outputs), -1).mean(1)
