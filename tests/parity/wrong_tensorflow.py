"""Bugs of the engine `tensorflow`; see wrong_engines.py."""

from collections.abc import Callable
from typing import Any

import pytest
from parity.wrong_engines import Bugs, Plant, after_build, wrapped

from paragone.base.tensorflow import keras, tf
from paragone.engines import tensorflow_optimizers
from paragone.engines.tensorflow import TensorFlow
from paragone.models import tensorflow as models
from paragone.tasks import tensorflow as tasks


def frozen_layer(engine: Any) -> None:
    right = engine._optimizer.apply
    engine._optimizer.apply = lambda gradients, weights: right(
        [0 * gradients[0], *gradients[1:]], weights
    )


def sum_for_mean(right: Callable, engine: Any, *batch: tf.Tensor) -> tuple:
    logits, losses, gradients = right(engine, *batch)
    return logits, losses, [tf.cast(tf.size(losses), g.dtype) * g for g in gradients]


def sum_of_gradients(patch: pytest.MonkeyPatch, engine: type) -> None:
    right = tensorflow_optimizers.Accumulation.take_means
    patch.setattr(
        tensorflow_optimizers.Accumulation,
        "take_means",
        lambda self: [self._several * mean for mean in right(self)],
    )


def batch_norm_always(training: bool) -> Plant:
    """Run the model as in training, or as in evaluation, whatever is asked for."""

    def forward(right: Callable, engine: Any, *batch: tf.Tensor, **_: bool) -> tuple:
        return right(engine, *batch, training=training)

    return wrapped("_forward", forward)


def accuracy_of_other_examples(
    right: Callable,
    engine: Any,
    logits: tf.Tensor,
    losses: tf.Tensor,
    labels: tf.Tensor,
    *rest: Any,
) -> None:
    right(engine, logits, losses, tf.roll(labels, 1, 0), *rest)


def batch_norm(option: str, value: float) -> Plant:
    return lambda patch, engine: patch.setitem(models.BATCH_NORM, option, value)


def mean_pooling(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(keras.layers, "MaxPooling2D", keras.layers.AveragePooling2D)


class AlwaysDropout(keras.layers.Dropout):
    """Dropout that ignores whether the model is evaluated, and can be switched off."""

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return super().__call__(*inputs, **options | {"training": True})


def dropout_in_evaluation(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(keras.layers, "Dropout", AlwaysDropout)


WRONG: Bugs = {
    ("fashion-cnn", "logits"): {
        "batch-norm-evaluates-in-training": batch_norm_always(False),
        "epsilon-of-batch-norm": batch_norm("epsilon", 1e-3),
    },
    ("fashion-cnn", "gradients"): {"sum-for-mean": wrapped("_gradients", sum_for_mean)},
    ("fashion-cnn", "updates"): {
        "frozen-layer": after_build(frozen_layer),
    },
    ("fashion-cnn", "statistics"): {
        "momentum-of-batch-norm": batch_norm("momentum", 0.99),
        "batch-norm-trains-in-evaluation": batch_norm_always(True),
    },
    ("fashion-cnn", "training"): {
        "accuracy-of-other-examples": wrapped("_count", accuracy_of_other_examples),
    },
    ("fashion-conv", "logits"): {"mean-pooling": mean_pooling},
    ("cosine", "updates"): {
        "rates-in-the-velocity": lambda patch, engine: patch.setattr(
            tensorflow_optimizers, "TorchSgd", keras.optimizers.SGD
        ),
    },
    ("accumulating", "updates"): {"sum-of-gradients": sum_of_gradients},
    ("wide-resnet", "evaluation"): {"dropout-in-evaluation": dropout_in_evaluation},
}


def first_part_for_all(right: Callable, engine: Any, batch: tuple) -> Any:
    replicas = engine.shard.last - engine.shard.first
    return right(engine, tuple(tf.concat([tf.split(a, replicas)[0]] * replicas, 0) for a in batch))


def statistics_on_their_own(patch: pytest.MonkeyPatch, engine: type) -> None:
    patch.setattr(TensorFlow, "_unite_statistics", lambda self: None)


def mean_over_a_replica(right: Callable, engine: Any, *batch: tf.Tensor) -> tuple:
    logits, losses, gradients = right(engine, *batch)
    return logits, losses, [engine.shard.replicas * gradient for gradient in gradients]


def weights_of_each_replica(right: Callable, engine: Any, *of: tf.Tensor) -> tf.Tensor:
    weights = tf.reduce_sum(tasks.weights(engine.workload.task, *of))
    return engine.shard.replicas * weights


def metrics_of_the_first_replica(engine: Any) -> None:
    with engine._strategy.scope():
        engine._totals = [
            tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                trainable=False,
            )
            for _ in engine._totals
        ]


OF_REPLICAS = {
    "tensorflow-mirrored": {
        "mean-over-a-replica": wrapped("_gradients", mean_over_a_replica),
        "each-replica-has-the-first-part": wrapped("_parts", first_part_for_all),
        "statistics-of-the-first-replica": statistics_on_their_own,
        "weights-of-each-replica": wrapped("_divisor", weights_of_each_replica),
        "metrics-of-the-first-replica": after_build(metrics_of_the_first_replica),
    },
}
