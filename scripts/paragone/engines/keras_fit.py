"""Keras: its own `fit`, called once per epoch over the shared batches, under MirroredStrategy or TPUStrategy.

`fit` of Keras 3 fails under MultiWorkerMirroredStrategy (keras #20585). Everything except the training
steps is inherited from the engine `tensorflow`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paragone.base.engine_reports import Metrics
from paragone.base.ranks import ALONE, World
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines.tensorflow import TensorFlow
from paragone.tasks import Task
from paragone.tasks import tensorflow as tasks


class KerasFit(TensorFlow):
    """The engine `tensorflow` with the training loop that Keras compiles."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        super().build(spec, dataset, threads, world)
        with self._strategy.scope():
            self._trainer = Fitted(self._model, self._outputs)
            accuracy = keras.metrics.SparseCategoricalAccuracy(name="score")
            self._trainer.compile(
                self._optimizer, self._loss(spec.workload.task), metrics=[accuracy]
            )
            self._trainer.build_metrics(dataset.train_inputs[:1], dataset.train_labels[:1])

    def _loss(self, task: Task) -> Callable[..., tf.Tensor]:
        """Return the loss of classes that a user of `fit` would compile."""
        if task.plain:
            return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # Keras gives labels of the outputs' dtype, and takes the mean over examples.
        return lambda labels, outputs: tasks.losses(task, outputs, tf.cast(labels, tf.int32))

    def _train_steps(
        self, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        self._batches = batches
        rate = self._optimizer.learning_rate
        rate.assign(learning_rates[0])
        each_step = keras.callbacks.LambdaCallback(
            on_train_batch_begin=lambda step, logs: rate.assign(learning_rates[step])
        )
        history = self._trainer.fit(
            self._train_pipeline,
            epochs=1,
            steps_per_epoch=steps,
            shuffle=False,
            verbose=0,
            callbacks=[each_step] if len({*learning_rates}) > 1 else [],
        ).history
        return Metrics(history["loss"][0], history["score"][0])


class Fitted(keras.Model):
    """The model from stored examples to the logits that the loss takes."""

    def __init__(self, model: keras.Model, outputs: Callable[..., tf.Tensor]) -> None:
        # Not in mixed precision, where Keras would round augmented images before they are scaled.
        super().__init__(dtype=keras.config.floatx())
        self.model = model  # tracked: its variables are trained
        self.outputs_of = outputs

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return the logits of a batch."""
        # The identity hides a softmax from Keras' loss, which would otherwise use the logits before it.
        return tf.identity(self.outputs_of(inputs, training))

    def build_metrics(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        """Build metrics as `fit` would, which takes batches from the epoch for it. Trains nothing."""
        batch = tf.constant(inputs), tf.constant(labels)
        self._symbolic_build(data_batch=batch)

    def _maybe_symbolic_build(self, *arguments: Any, **options: Any) -> None:
        """Do nothing, since `build_metrics` has done it."""


ENGINE = KerasFit
