"""TensorFlow: one own loop under every `tf.distribute` strategy.

Keras' `fit` fails under MultiWorkerMirroredStrategy (keras #20585); this loop does not, and a whole
epoch is one `tf.function`. No `jit_compile`: on a CPU it makes these models several times slower.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from paragone.base.engine_reports import Devices, FlopCount, Metrics, Modes, Programs
from paragone.base.ranks import ALONE, World
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard, train_dtype
from paragone.engines import Probe, tensorflow_devices, warm_up
from paragone.engines.tensorflow_flop import count
from paragone.engines.tensorflow_input import pipeline
from paragone.engines.tensorflow_optimizers import create_optimizer
from paragone.engines.tensorflow_statistics import Statistics
from paragone.models import create_model
from paragone.models.canonical_weights import Weights
from paragone.models.keras_weights import known, layers_in, named
from paragone.models.tensorflow import MODELS

STRATEGIES = {"mirrored": "one worker", "multiworker": "several workers", "tpu": "one worker"}
BATCH_NORM = "mean"
TUNED = {"inter_op_threads": "operations that run at the same time; as installed, as many as cores"}


class TensorFlow:
    """The engine. Loss and accuracy are summed on the devices and read once per epoch."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        tensorflow_devices.set_threads(threads, spec.tuned("inter_op_threads"))
        keras.utils.set_random_seed(spec.seed)
        # A TPU's programs repeat to the last bit, and with this they cannot be lowered.
        if spec.deterministic and spec.backend["device"] != "tpu":
            tf.config.experimental.enable_op_determinism()
        keras.config.set_floatx(spec.weights_precision)
        keras.config.set_dtype_policy("mixed_bfloat16" if spec.mixed else spec.precision)
        self._dtype = tf.as_dtype(spec.weights_precision)
        self._strategy = self.open_strategy(spec, world)
        replicas = self._strategy.num_replicas_in_sync
        self.devices = Devices(
            spec.backend["device"], replicas, tensorflow_devices.workers_of(self._strategy)
        )
        self.device_names = list(self._strategy.extended.worker_devices)
        local = replicas // self.devices.workers
        self.shard = Shard(world.rank * local, (world.rank + 1) * local, replicas)
        inputs = dataset.train_inputs
        shape, labels = (None, *inputs.shape[1:]), tf.TensorSpec((None,), tf.int32)
        self._train_pipeline = pipeline(
            lambda: self._batches, tf.TensorSpec(shape, train_dtype(dataset, spec)), labels
        )
        self._test_pipeline = pipeline(
            lambda: self._batches,
            tf.TensorSpec(shape, inputs.dtype),
            labels,
            tf.TensorSpec((None,), tf.float32),
        )
        self._global_batch = spec.global_batch
        self._workload = spec.workload
        with self._strategy.scope():
            self._model = known(create_model(MODELS, spec, dataset))
            self._optimizer = create_optimizer(spec.workload["optimizer"], spec.precision)
            self._optimizer.build(self._model.trainable_variables)
            self._statistics = Statistics(self._strategy, self._model)
            self._totals = [_total() for _ in range(3)]  # loss, correct, examples

    def open_strategy(self, spec: Spec, world: World) -> tf.distribute.Strategy:
        """The strategy that variables are made under. Raises `Unavailable`."""
        return tensorflow_devices.create_strategy(spec.backend, spec.replicas, world)

    # The device side

    def _logits(self, inputs: tf.Tensor, training: bool) -> tf.Tensor:
        if scale := self._workload.get("input"):
            inputs = tf.cast(inputs, self._dtype) / scale["divide"]
            inputs = (inputs - scale["mean"]) / scale["std"]
        return tf.cast(self._model(inputs, training=training), self._dtype)

    def _outputs(self, inputs: tf.Tensor, training: bool) -> tf.Tensor:
        """The logits that the loss takes."""
        logits = self._logits(inputs, training)
        if self._workload.get("loss") == "double_softmax":
            # Intended: a flaw of the published source, softmax outputs where logits are expected.
            logits = tf.nn.softmax(logits)
        return logits

    def _forward(self, inputs: tf.Tensor, labels: tf.Tensor, training: bool) -> tuple:
        logits = self._outputs(inputs, training)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return logits, losses

    def _gradients(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            logits, losses = self._forward(inputs, labels, training=True)
            # Summed over replicas this is the mean over the global batch.
            loss = tf.reduce_sum(losses) / self._global_batch
        gradients = tape.gradient(loss, self._model.trainable_variables)
        if self._workload["optimizer"].get("deduplicate", True):
            # An embedding's gradient is sparse, one slice per occurrence of a word; in the
            # dense one, the slices of a word are added. Keras' optimizers would square the slices one by one.
            gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return logits, losses, gradients

    def _train_step(self, inputs: tf.Tensor, labels: tf.Tensor) -> None:
        logits, losses, gradients = self._gradients(inputs, labels)
        self._optimizer.apply(gradients, self._model.trainable_variables)
        self._count(logits, losses, labels, tf.ones_like(losses))

    def _test_step(self, inputs: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> None:
        logits, losses = self._forward(inputs, labels, training=False)
        self._count(logits, losses, labels, weights)

    def _count(
        self, logits: tf.Tensor, losses: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
    ) -> None:
        weights = tf.cast(weights, losses.dtype)
        correct = tf.cast(tf.argmax(logits, -1, tf.int32) == labels, losses.dtype)
        for total, values in zip(
            self._totals, (losses, correct, tf.ones_like(losses)), strict=True
        ):
            total.assign_add(tf.cast(tf.reduce_sum(values * weights), tf.float32))

    @tf.function
    def _train_loop(self, iterator: Iterator, steps: tf.Tensor) -> None:
        for _ in tf.range(steps):
            self._strategy.run(self._train_step, self._parts(next(iterator)))

    @tf.function
    def _test_loop(self, iterator: Iterator, steps: tf.Tensor) -> None:
        for _ in tf.range(steps):
            self._strategy.run(self._test_step, self._parts(next(iterator)))

    def _parts(self, batch: tuple) -> tuple:
        """Each local replica's part of a batch of this worker, in order."""
        first, last = self.shard.first, self.shard.last
        # On the host, where the batch is: else it would go to the first device and from there to the others.
        with tf.device("/CPU:0"):
            parts = list(zip(*(tf.split(array, last - first) for array in batch), strict=True))
        return self._strategy.experimental_distribute_values_from_function(
            lambda context: parts[context.replica_id_in_sync_group - first]
        )

    # The host side

    def _run(
        self,
        loop: tf.types.experimental.PolymorphicFunction,
        pipeline: tf.data.Dataset,
        batches: Iterable[tuple],
        steps: int,
    ) -> Metrics:
        for total in self._totals:
            total.assign(0.0)
        self._batches = batches
        loop(iter(pipeline), tf.constant(steps))
        # Reading waits for the devices.
        loss, correct, examples = (float(total.read_value()) for total in self._totals)
        return Metrics(loss / examples, correct / examples)

    def snapshot(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self._variables()]

    def restore(self, snapshot: list[np.ndarray]) -> None:
        for variable, value in zip(self._variables(), snapshot, strict=True):
            variable.assign(value)

    def _variables(self) -> list[keras.Variable]:
        return [*self._model.variables, *self._optimizer.variables]

    def warm_up(self, learning_rate: float, train_batch: tuple, test_batch: tuple) -> None:
        warm_up(self, learning_rate, train_batch, test_batch)

    def train_epoch(
        self, seed: int, learning_rate: float, batches: Iterable[tuple], steps: int
    ) -> Metrics:
        for index, layer in enumerate(layers_in(self._model)):
            if isinstance(layer, keras.layers.Dropout) and layer.rate > 0:
                layer.seed_generator.state.assign([seed, index])
        self._optimizer.learning_rate.assign(learning_rate)
        metrics = self._train_steps(batches, steps)
        self._statistics.unite()
        return metrics

    def _train_steps(self, batches: Iterable[tuple], steps: int) -> Metrics:
        return self._run(self._train_loop, self._train_pipeline, batches, steps)

    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        return self._run(self._test_loop, self._test_pipeline, batches, steps)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        return tf.nn.softmax(self._logits(tf.constant(inputs), training=False)).numpy()

    def probe(self, batch: tuple) -> Probe:
        inputs, labels = (tf.constant(array) for array in batch)
        logits, losses, gradients = self._gradients(inputs, labels)
        trainable = [variable.path for variable in self._model.trainable_variables]
        by_path = dict(zip(trainable, gradients, strict=True))
        by_name = {
            name: tf.convert_to_tensor(by_path[variable.path]).numpy().reshape(shape)
            for name, variable, shape in named(self._model)
            if variable.path in by_path
        }
        return Probe(logits.numpy(), float(tf.reduce_mean(losses)), by_name)

    def weights(self) -> Weights:
        return {
            name: variable.numpy().reshape(shape) for name, variable, shape in named(self._model)
        }

    def set_weights(self, weights: Weights) -> None:
        for name, variable, _ in named(self._model):
            variable.assign(weights[name].reshape(variable.shape))

    def count_flop(self, spec: Spec, dataset: Dataset) -> FlopCount:
        return count(create_model(MODELS, spec, dataset), self._train_pipeline.element_spec)

    def programs(self) -> Programs | None:
        return None

    def input_seconds(self) -> float | None:
        return None

    def modes(self) -> Modes:
        return tensorflow_devices.modes(self._strategy, self.devices)

    def reset_peak_memory(self) -> None:
        tensorflow_devices.reset_peak_memory(self.device_names)

    def peak_device_memory(self) -> int | None:
        return tensorflow_devices.peak_memory(self.device_names)

    def out_of_memory(self, error: Exception) -> bool:
        return tensorflow_devices.out_of_memory(error)

    def unsupported(self, error: Exception) -> bool:
        return tensorflow_devices.unsupported(error)

    def save(self, folder: Path) -> None:
        self._checkpoint().write(str(folder / "state"))

    def load(self, folder: Path) -> None:
        self._checkpoint().read(str(folder / "state")).assert_consumed()

    def _checkpoint(self) -> tf.train.Checkpoint:
        return tf.train.Checkpoint(model=self._model, optimizer=self._optimizer)


ENGINE = TensorFlow


def _total() -> tf.Variable:
    return tf.Variable(
        0.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
        trainable=False,
    )
