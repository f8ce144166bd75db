"""Losses and scores of tasks in TensorFlow, and those that Keras compiles. Shapes: see `reference`."""

from paragone.base.tensorflow import keras, tf
from paragone.tasks import Task


def losses(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The loss of each example, (batch,), of stored labels."""
    if task.numeric:
        return _means((outputs - tf.cast(labels, outputs.dtype)) ** 2)
    return _means(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))


def scores(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The score of each example, (batch,), of the outputs' dtype."""
    if task.numeric:
        return _means(tf.abs(outputs - tf.cast(labels, outputs.dtype)))
    return _means(tf.cast(tf.argmax(outputs, -1, labels.dtype) == labels, outputs.dtype))


def _means(values: tf.Tensor) -> tf.Tensor:
    """The mean of each example's values."""
    return values if values.shape.rank == 1 else tf.reduce_mean(values, range(1, values.shape.rank))


def compiled(task: Task) -> tuple[keras.losses.Loss, keras.metrics.Metric]:
    """The loss and the score that a user of Keras' `fit` would compile."""
    if task.numeric:
        return keras.losses.MeanSquaredError(), keras.metrics.MeanAbsoluteError(name="score")
    return (
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        keras.metrics.SparseCategoricalAccuracy(name="score"),
    )
