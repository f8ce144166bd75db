"""Losses and scores of tasks in TensorFlow, and those that Keras compiles.

Shapes and divisors are those of `reference`; see there.
"""

from collections.abc import Callable

from paragone.base.tensorflow import keras, tf
from paragone.tasks import Task


def losses(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the loss of each example, (batch,), of stored labels."""
    if task.numeric:
        return _means((outputs - tf.cast(labels, outputs.dtype)) ** 2)
    if task.multi_label:
        labels = tf.cast(labels, outputs.dtype)
        return _means(tf.nn.sigmoid_cross_entropy_with_logits(labels, outputs))
    if task.plain:
        return _means(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))
    classes, smoothing = outputs.shape[-1], task.label_smoothing
    wanted = (1 - smoothing) * tf.one_hot(labels, classes, dtype=outputs.dtype)
    wanted += smoothing / classes
    if task.rule == "pytorch":
        wanted *= tf.constant(task.class_weights, outputs.dtype)
    elif task.class_weights:
        wanted *= _of_labels(task, outputs, labels)[..., None]
    # TensorFlow's own function has a wrong gradient where the shares of the classes do not add up to 1.
    each = -tf.reduce_sum(wanted * tf.nn.log_softmax(outputs), -1)
    return _means(each * tf.cast(labels >= 0, outputs.dtype))


def _of_labels(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The weight of the class of each label; of an ignored label any."""
    return tf.gather(tf.constant(task.class_weights, outputs.dtype), tf.maximum(labels, 0))


def weights(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return what each example counts in the divisor of the loss, (batch,)."""
    if not task.weighs:
        return tf.ones(tf.shape(labels)[:1], outputs.dtype)
    each = tf.cast(labels >= 0, outputs.dtype)
    return _means(each * _of_labels(task, outputs, labels) if task.rule == "pytorch" else each)


def scores(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the score of each example, (batch,), of the outputs' dtype."""
    if task.numeric:
        return _means(tf.abs(outputs - tf.cast(labels, outputs.dtype)))
    if task.multi_label:
        return 2 * _means(tf.cast(outputs > 0, outputs.dtype) * tf.cast(labels, outputs.dtype))
    return _means(tf.cast(tf.argmax(outputs, -1, labels.dtype) == labels, outputs.dtype))


def counts(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return what each example counts in the divisor of the score, (batch,)."""
    if task.multi_label:
        return _means(tf.cast(outputs > 0, outputs.dtype) + tf.cast(labels, outputs.dtype))
    if task.ignored:
        return _means(tf.cast(labels >= 0, outputs.dtype))
    return tf.ones(tf.shape(labels)[:1], outputs.dtype)


def _means(values: tf.Tensor) -> tf.Tensor:
    """The mean of each example's values."""
    return values if values.shape.rank == 1 else tf.reduce_mean(values, range(1, values.shape.rank))


def compiled(task: Task) -> tuple[Callable, keras.metrics.Metric]:
    """Return the loss and the score that a user of Keras' `fit` would compile."""
    if task.numeric:
        return keras.losses.MeanSquaredError(), keras.metrics.MeanAbsoluteError(name="score")
    if task.multi_label:
        return keras.losses.BinaryCrossentropy(from_logits=True), MicroF1(name="score")
    accuracy = keras.metrics.SparseCategoricalAccuracy(name="score")
    if task.plain:
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True), accuracy
    # Keras gives labels of the outputs' dtype, and takes the mean over examples.
    return lambda labels, outputs: losses(task, outputs, tf.cast(labels, tf.int32)), accuracy


class MicroF1(keras.metrics.F1Score):
    """Micro F1 of logits."""

    def __init__(self, name: str) -> None:
        super().__init__(average="micro", threshold=0.5, name=name)

    def update_state(
        self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: None = None
    ) -> None:
        """Count the classes of a batch."""
        super().update_state(y_true, tf.sigmoid(y_pred))
