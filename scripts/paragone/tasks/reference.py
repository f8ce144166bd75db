"""Losses and scores in NumPy, written from their definitions, with the gradients of the losses.

The mean loss of a batch is the sum of `losses` over that of `weights`, a score the sum of its `scores` over
that of `counts`, of all replicas. Where all labels count alike, both divisors are the number of examples.
"""

import numpy as np

from paragone.tasks import TOP, Task


def losses(task: Task, outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of each example, (batch,), and its gradient with respect to the outputs.

    outputs: (batch, ..., classes) logits, and targets (batch, ...) of classes; or both (batch, targets) of
    numbers, or of logits and whether the example has the class. The loss of an example is the mean over its
    positions, or its targets.
    """
    batch, size = len(outputs), targets[0].size
    if task.numeric:
        error = outputs - targets
        return (error**2).reshape(batch, -1).mean(1), 2 * error / size
    if task.multi_label:
        of_labels = np.logaddexp(0, outputs) - outputs * targets
        return of_labels.mean(1), (1 / (1 + np.exp(-outputs)) - targets) / size
    shifted = outputs - outputs.max(-1, keepdims=True)
    log_chances = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    shares = target_shares(task, targets, outputs.shape[-1]).astype(outputs.dtype)
    of_positions = -(shares * log_chances).sum(-1)
    gradient = shares.sum(-1, keepdims=True) * np.exp(log_chances) - shares
    return of_positions.reshape(batch, -1).mean(1), gradient / size


def target_shares(task: Task, targets: np.ndarray, classes: int) -> np.ndarray:
    """Return what multiplies -log of each class' probability in the loss, (..., classes) for targets (...).

    1 for the target alone, smoothed by Szegedy et al. (arXiv:1512.00567, section 7); times the weight of the
    target by the rule of Keras, of each class by that of PyTorch; 0 for ignored targets.
    """
    smoothing = task.label_smoothing
    shares = (1 - smoothing) * (np.arange(classes) == targets[..., None]) + smoothing / classes
    shares *= (targets >= 0)[..., None]
    if task.class_weights is None:
        return shares
    by_class = np.array(task.class_weights)
    return shares * (by_class if task.rule == "pytorch" else by_class[targets][..., None])


def weights(task: Task, targets: np.ndarray) -> np.ndarray:
    """Return what the loss of each example counts in the divisor of the mean, (batch,)."""
    if not task.weighs:
        return np.ones(len(targets))
    values = (targets >= 0).astype(float)
    if task.rule == "pytorch":
        values *= np.array(task.class_weights)[targets]
    return values.reshape(len(targets), -1).mean(1)


def scores(task: Task, outputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    """Return `task.scores` of each example, each (batch,): shares of right positions, or absolute errors.

    Of several classes, twice the share that is rightly predicted: with a probability above one half. A
    position is right in top-5 accuracy if fewer than five classes come before its own: those of larger
    outputs, and of equal ones the first.
    """
    if task.multi_label:
        return [2 * ((outputs > 0) * targets).mean(1)]
    values = [np.abs(outputs - targets) if task.numeric else outputs.argmax(-1) == targets]
    if task.top5:
        places, classes = np.maximum(targets, 0)[..., None], outputs.shape[-1]
        score, after = np.take_along_axis(outputs, places, -1), np.arange(classes) >= places
        # Those behind, as nothing comes before an output that is no number.
        behind = (outputs < score) | ((outputs == score) & after)
        values.append((behind.sum(-1) > classes - TOP) & (targets >= 0))
    return [right.reshape(len(outputs), -1).mean(1) for right in values]


def counts(task: Task, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return what the score of each example counts in the divisor of the mean, (batch,).

    The share of positions that are not ignored. Of several classes, the share that is predicted and that
    which is true, so that the quotient is micro F1: 2 TP / (2 TP + FP + FN) over all examples and classes.
    """
    if task.multi_label:
        return (outputs > 0).mean(1) + targets.mean(1)
    return (
        (targets >= 0).reshape(len(targets), -1).mean(1) if task.ignored else np.ones(len(targets))
    )


def chance_levels(task: Task, labels: np.ndarray, classes: int) -> dict[str, float]:
    """Return what a model that learned nothing can reach on the labels of a split.

    For numbers: `variance`, the mean squared error of their mean. For classes: `majority`, the share of the
    most frequent one, and `guessing_loss`, as of `guessed`.
    """
    if task.numeric:
        return {"variance": float(np.asarray(labels, np.float64).var(0).mean())}
    of_classes = task.plain and not task.multi_label
    if of_classes and labels.ndim == 2 and labels.strides[0] == labels.strides[1]:
        # Windows that overlap: each label counts once.
        labels = np.concatenate([labels[:, 0], labels[-1, 1:]])
    best, loss = guessed(task, labels, classes)
    return {"majority": best, "guessing_loss": loss}


def guessed(task: Task, labels: np.ndarray, classes: int) -> tuple[float, float]:
    """Return the best score and the least loss of a model with the same outputs for all examples.

    labels: of a split; the mean loss is that over the whole split.
    """
    if task.multi_label:
        share = labels.mean(0)
        # The most frequent classes are predicted, if any.
        predicted = np.arange(1, classes + 1) + share.sum()
        f1 = float((2 * np.sort(share)[::-1].cumsum() / predicted).max())
        return f1, float(-(xlogx(share) + xlogx(1 - share)).mean())
    counts_of_classes = np.bincount(labels[labels >= 0].ravel(), minlength=classes)
    present = np.arange(classes)
    # Of plain labels these are the counts, without a matrix of classes by classes.
    shares = (
        counts_of_classes
        if task.plain
        else counts_of_classes @ target_shares(task, present, classes)
    )
    divisor = counts_of_classes @ weights(task, present) if task.weighs else counts_of_classes.sum()
    return float(counts_of_classes.max() / counts_of_classes.sum()), float(
        (xlogx(shares.sum()) - xlogx(shares).sum()) / divisor
    )


def xlogx(values: np.ndarray) -> np.ndarray:
    """Return x log x, 0 for 0."""
    return values * np.log(np.where(values > 0, values, 1))
