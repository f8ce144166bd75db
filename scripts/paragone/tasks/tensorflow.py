"""Losses and scores of tasks in TensorFlow. Shapes and divisors are those of `reference`; see there."""

from paragone.base.tensorflow import tf
from paragone.tasks import TOP, Task


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
    targets = (1 - smoothing) * tf.one_hot(labels, classes, dtype=outputs.dtype)
    targets += smoothing / classes
    if task.rule == "pytorch":
        targets *= tf.constant(task.class_weights, outputs.dtype)
    elif task.class_weights:
        targets *= _of_labels(task, outputs, labels)[..., None]
    # TensorFlow's own function has a wrong gradient where the shares of the classes do not add up to 1.
    values = -tf.reduce_sum(targets * tf.nn.log_softmax(outputs), -1)
    return _means(values * tf.cast(labels >= 0, outputs.dtype))


def _of_labels(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return the weight of the class of each label; of an ignored label any."""
    return tf.gather(tf.constant(task.class_weights, outputs.dtype), tf.maximum(labels, 0))


def weights(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return what each example counts in the divisor of the loss, (batch,)."""
    if not task.weighs:
        return tf.ones(tf.shape(labels)[:1], outputs.dtype)
    values = tf.cast(labels >= 0, outputs.dtype)
    return _means(values * _of_labels(task, outputs, labels) if task.rule == "pytorch" else values)


def scores(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> list[tf.Tensor]:
    """Return `task.scores` of each example, each (batch,), of the outputs' dtype."""
    if task.numeric:
        return [_means(tf.abs(outputs - tf.cast(labels, outputs.dtype)))]
    if task.multi_label:
        return [2 * _means(tf.cast(outputs > 0, outputs.dtype) * tf.cast(labels, outputs.dtype))]
    right = [tf.argmax(outputs, -1, labels.dtype) == labels]
    if task.top5:
        places = tf.maximum(labels, 0)[..., None]
        score = tf.gather(outputs, places, batch_dims=outputs.shape.rank - 1)
        after = tf.range(outputs.shape[-1], dtype=places.dtype) >= places
        behind = tf.math.count_nonzero((outputs < score) | ((outputs == score) & after), -1)
        right.append((behind > outputs.shape[-1] - TOP) & (labels >= 0))
    return [_means(tf.cast(values, outputs.dtype)) for values in right]


def counts(task: Task, outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return what each example counts in the divisor of the score, (batch,)."""
    if task.multi_label:
        return _means(tf.cast(outputs > 0, outputs.dtype) + tf.cast(labels, outputs.dtype))
    if task.ignored:
        return _means(tf.cast(labels >= 0, outputs.dtype))
    return tf.ones(tf.shape(labels)[:1], outputs.dtype)


def _means(values: tf.Tensor) -> tf.Tensor:
    return values if values.shape.rank == 1 else tf.reduce_mean(values, range(1, values.shape.rank))
