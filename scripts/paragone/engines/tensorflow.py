"""TensorFlow: one training loop under every `tf.distribute` strategy, and its input pipeline.

Unlike Keras' `fit`, the loop works under MultiWorkerMirroredStrategy (keras #20585), and a whole epoch is one
`tf.function`. It does not use `jit_compile`, which makes these models several times slower on a CPU.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from msgspec.structs import replace

from paragone.base import plugins
from paragone.base.engine_reports import ALONE, Devices, Metrics, Modes, World
from paragone.base.errors import Unavailable, UserError, require_devices, says_memory_is_full
from paragone.base.tensorflow import keras, tf
from paragone.config.run_spec import MODEL, Backend, Spec
from paragone.data import Dataset
from paragone.data.batches import Shard, train_dtype
from paragone.engines import Probe, Reports
from paragone.engines.tensorflow_optimizers import Accumulation, create_optimizer
from paragone.models import create_model
from paragone.models import tensorflow as models
from paragone.models.weights import Weights, native_arrays
from paragone.tasks import tensorflow as tasks

# isort: split
from tensorflow.python.framework.config import is_op_determinism_enabled

_CREATED: WeakSet[keras.Layer] = WeakSet()  # models of this process
AT_ONCE = 2**20  # bytes per call of the generator, for batches that are smaller


def pipeline(batches: Callable[[], Iterable[tuple]], *signature: tf.TensorSpec) -> tf.data.Dataset:
    """Return a tf.data pipeline with prefetching, which calls `batches` whenever an iteration begins.

    Create it once, as that takes longer than several steps of a small model. Small batches are taken from
    Python several at a time, since each call of the generator costs a part of a step.
    """
    several = [tf.TensorSpec((None, *spec.shape), spec.dtype) for spec in signature]
    source = tf.data.Dataset.from_generator(
        lambda: _stacked(batches()), output_signature=tuple(several)
    )
    # Autotuning has nothing to tune here and falsifies the clocks: its thread sleeps 10 ms, 20 ms, 40 ms ...,
    # and the end of an iterator may wait until it wakes up, so that timed windows last 0.64, 1.28 ... s,
    # often far longer than their work. The iterators of `Strategy.distribute_datasets_from_function` cannot
    # switch it off, so the engine does not use them.
    options = tf.data.Options()
    options.autotune.enabled = False
    return source.unbatch().prefetch(2).with_options(options)


def _stacked(batches: Iterable[tuple]) -> Iterator[tuple]:
    for _, group_of_size in groupby(batches, key=lambda batch: len(batch[0])):
        of_one_size = iter(group_of_size)
        for first in of_one_size:
            count = max(1, AT_ONCE // sum(array.nbytes for array in first))
            group = [first, *islice(of_one_size, count - 1)]
            yield tuple(
                map(np.stack, zip(*group, strict=True)) if group[1:] else (a[None] for a in first)
            )


class TensorFlow(Reports):
    """The engine. Loss and score are summed on the devices and read once per epoch."""

    library = models

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        set_threads(threads)
        # A TPU's programs repeat to the last bit, and with this they cannot be lowered.
        if spec.deterministic and spec.backend.device != "tpu":
            tf.config.experimental.enable_op_determinism()
        self._dtype = tf.as_dtype(spec.weights_precision)
        self._strategy = self.open_strategy(spec, world)
        replicas = self._strategy.num_replicas_in_sync
        resolver = self._strategy.cluster_resolver
        jobs = resolver.cluster_spec().as_dict() if resolver else {}
        workers = max(1, len(jobs.get("worker", ())))
        self.devices = Devices(spec.backend.device, replicas, workers)
        self.device_names = list(self._strategy.extended.worker_devices)
        local = replicas // self.devices.workers
        self.shard = Shard(world.rank * local, (world.rank + 1) * local, replicas)
        inputs = dataset.train_inputs
        shape, stored = (None, *inputs.shape[1:]), dataset.train_labels
        labels = tf.TensorSpec((None, *stored.shape[1:]), stored.dtype)
        trained = tf.TensorSpec(shape, train_dtype(dataset, spec))
        tested, weights = tf.TensorSpec(shape, inputs.dtype), tf.TensorSpec((None,), tf.float32)
        self._train_pipeline = pipeline(lambda: self._batches, trained, labels)
        self._test_pipeline = pipeline(lambda: self._batches, tested, labels, weights)
        # The rate of each step: a variable, so that the loop is traced once for any number of steps.
        with tf.device("/CPU:0"):
            self._rates = tf.Variable([0.0], shape=(None,), dtype=self._dtype)
        self.workload = spec.workload
        drawn: Weights = {}
        if spec.workload.initializer == MODEL and spec.weights_precision == "float64":
            # Keras would draw other values in double precision.
            prepare_keras(replace(spec, precision="float32"))
            self._create_model(spec, dataset)
            drawn = self.weights()
        prepare_keras(spec)
        with self._strategy.scope():
            self._create_model(spec, dataset)
            if drawn:
                self.set_weights(drawn)
            self._optimizer, self.update = create_optimizer(spec, self.entries())
            self._optimizer.build(self.model.trainable_variables)
            learned, several = self.model.trainable_variables, spec.workload.accumulated
            self._accumulation = Accumulation(learned, several) if several > 1 else None
            reading, summing = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM
            self._totals = [  # those of `Metrics.of_sums`
                tf.Variable(0.0, trainable=False, synchronization=reading, aggregation=summing)
                for _ in range(4 + len(spec.workload.task.scores))
            ]

    def open_strategy(self, spec: Spec, world: World) -> tf.distribute.Strategy:
        """Create the strategy. Raises `Unavailable` if its devices are missing."""
        return create_strategy(spec.backend, spec.replicas, world)

    def _create_model(self, spec: Spec, dataset: Dataset) -> None:
        """Create the model and its arrays. Raises `UserError` for another object than a new model."""
        model, inputs = create_model(models.MODELS, spec, dataset), dataset.train_inputs
        where = f"model {spec.workload.model_name}: its function returns"
        if not isinstance(model, keras.Layer):
            raise UserError(f"{where} a {type(model).__name__}; return a Keras model")
        if model in _CREATED:
            raise UserError(f"{where} the same model again; create its layers in each call")
        _CREATED.add(model)
        self.model = model
        if not model.built:  # of a subclass, whose first call makes its arrays
            dtype = self._dtype if self.workload.input else inputs.dtype
            with plugins.explaining():
                try:
                    model(keras.Input(inputs.shape[1:], dtype=dtype.name))
                except Exception as error:  # after what Keras says of shapes that it cannot tell
                    error.args = (str(error).rpartition("Error encountered:\n\n")[2],)
                    raise

    # The device side

    def _outputs(self, inputs: tf.Tensor, training: bool) -> Any:
        if scale := self.workload.input:
            inputs = tf.cast(inputs, self._dtype) / scale.divide
            mean, std = (tf.constant(v, self._dtype) for v in (scale.mean, scale.std))
            inputs = (inputs - mean) / std
        return self.model(inputs, training=training)

    def _logits(self, inputs: tf.Tensor, training: bool) -> tf.Tensor:
        return tf.cast(self._outputs(inputs, training), self._dtype)

    def _forward(self, inputs: tf.Tensor, labels: tf.Tensor, training: bool) -> tuple:
        """Return the outputs as the loss takes them, (batch, ..., classes or targets), and the losses."""
        logits = self._logits(inputs, training)
        if self.workload.loss == "double_softmax":
            # Intended: a flaw of the published source, softmax outputs where logits are expected.
            logits = tf.nn.softmax(logits)
        return logits, tasks.losses(self.workload.task, logits, labels)

    def _gradients(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            logits, losses = self._forward(inputs, labels, training=True)
            # Summed over replicas this is the mean over the global batch, of which each has as many.
            loss = tf.reduce_sum(losses) / self._divisor(logits, labels)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        workload = self.workload
        keeps = workload.updates_seen_words or workload.optimizer_framework
        if workload.deduplicates and not keeps:
            # An embedding's gradient is sparse, one slice per occurrence of a word; in the
            # dense one, the slices of a word are added. Keras' optimizers would square the slices one by one.
            gradients = [g if g is None else tf.convert_to_tensor(g) for g in gradients]
        return logits, losses, gradients

    def _divisor(self, logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Return the sum of the weights of the global batch, of which each replica has as many examples."""
        weights = tf.reduce_sum(tasks.weights(self.workload.task, logits, labels))
        if not self.workload.task.weighs:
            return weights * self.shard.replicas
        replica = tf.distribute.get_replica_context()
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, weights)

    def _train_step(self, inputs: tf.Tensor, labels: tf.Tensor) -> None:
        logits, losses, gradients = self._gradients(inputs, labels)
        if self._accumulation:
            self._accumulation.add(gradients)
        else:
            self._apply(gradients)
        self._count(logits, losses, labels, tf.ones_like(losses))

    def _update(self) -> None:
        if self._accumulation:
            self._apply(self._accumulation.take_means())

    def _apply(self, gradients: list) -> None:
        """Take a step; a weight on which no output depends has no gradient, and stays as it is."""
        pairs = zip(gradients, self.model.trainable_variables, strict=True)
        self._optimizer.apply(*map(list, zip(*(p for p in pairs if p[0] is not None), strict=True)))

    def _test_step(self, inputs: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> None:
        logits, losses = self._forward(inputs, labels, training=False)
        self._count(logits, losses, labels, weights)

    def _count(
        self, logits: tf.Tensor, losses: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
    ) -> None:
        counted = tf.cast(weights, losses.dtype)
        weights, counts, scores = (
            of(self.workload.task, logits, labels)
            for of in (tasks.weights, tasks.counts, tasks.scores)
        )
        summands = (losses, weights, counts, 1.0, *scores)
        for total, values in zip(self._totals, summands, strict=True):
            total.assign_add(tf.cast(tf.reduce_sum(values * counted), tf.float32))

    @tf.function
    def _train_loop(self, iterator: Iterator, steps: tf.Tensor) -> None:
        for step in tf.range(steps):
            if self.workload.learning_rate.by_step:  # decided when the loop is traced
                self._optimizer.learning_rate.assign(self._rates[step])
            self._strategy.run(self._train_step, self._parts(next(iterator)))
            if self._accumulation and self._accumulation.complete():
                self._strategy.run(self._update)

    @tf.function
    def _test_loop(self, iterator: Iterator, steps: tf.Tensor) -> None:
        for _ in tf.range(steps):
            self._strategy.run(self._test_step, self._parts(next(iterator)))

    @tf.function
    def _mean_statistics(self) -> tf.Tensor:
        """Return the mean of statistics over the replicas of all workers, as one vector, in one reduction.

        TensorFlow runs each of several reductions on a new thread and keeps the thread: over a hundred per
        epoch, until no more can be started.
        """

        def of_replica() -> tf.Tensor:
            buffers = models.buffers_of(self.model)
            return tf.concat([tf.reshape(buffer.value, [-1]) for buffer in buffers], axis=0)

        statistics = self._strategy.run(of_replica)
        return self._strategy.reduce(tf.distribute.ReduceOp.MEAN, statistics, axis=None)

    def _parts(self, batch: tuple) -> tuple:
        """Split a batch of this worker into the parts of its replicas, in order."""
        first, last = self.shard.first, self.shard.last
        # On the host, where the batch is; otherwise it would reach the other devices through the first.
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
        return Metrics.of_sums(*(float(total.read_value()) for total in self._totals))

    def snapshot(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self._variables()]

    def restore(self, snapshot: list[np.ndarray]) -> None:
        for variable, value in zip(self._variables(), snapshot, strict=True):
            variable.assign(value)

    def _variables(self) -> list[keras.Variable]:
        sums = self._accumulation.variables if self._accumulation else []
        return [*self.model.variables, *self._optimizer.variables, *sums]

    def train_epoch(
        self, seed: int, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        models.set_seed(self.model, seed)
        self._rates.assign(learning_rates)
        self._optimizer.learning_rate.assign(learning_rates[0])
        metrics = self._run(self._train_loop, self._train_pipeline, batches, steps)
        self._unite_statistics()
        return metrics

    def _unite_statistics(self) -> None:
        """Give every replica the mean over replicas of batch norm's running statistics.

        Keras reads and saves only those of a worker's first replica. Without this, each replica would
        evaluate with its own, and a resumed run would start from other ones than it stopped with.
        """
        if statistics := models.buffers_of(self.model):
            sizes = [int(tf.size(variable)) for variable in statistics]
            means = tf.split(self._mean_statistics(), sizes)
            for variable, mean in zip(statistics, means, strict=True):
                variable.assign(tf.reshape(mean, variable.shape))

    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        return self._run(self._test_loop, self._test_pipeline, batches, steps)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        return tf.nn.softmax(self._logits(tf.constant(inputs), training=False)).numpy()

    def probe(self, batch: tuple) -> Probe:
        inputs, labels = (tf.constant(array) for array in batch)
        logits, losses, gradients = self._gradients(inputs, labels)
        by_variable = {
            id(variable): tf.zeros_like(variable) if gradient is None else gradient
            for variable, gradient in zip(self.model.trainable_variables, gradients, strict=True)
        }
        by_name = {
            name: layout.canonical(tf.convert_to_tensor(by_variable[id(variable)]))
            for name, variable, layout in self.entries()
            if id(variable) in by_variable
        }
        divisor = tf.reduce_sum(tasks.weights(self.workload.task, logits, labels))
        return Probe(logits.numpy(), float(tf.reduce_sum(losses) / divisor), by_name)

    def outputs(self, inputs: np.ndarray, trains: bool = True) -> Any:
        states = self.model.non_trainable_weights
        before = [variable.numpy() for variable in states]
        outputs = self._outputs(tf.constant(inputs), training=trains)
        for variable, value in zip(states, before, strict=True):
            variable.assign(value)
        return outputs.numpy() if tf.is_tensor(outputs) else outputs

    def weights(self) -> Weights:
        return {name: layout.canonical(array.numpy()) for name, array, layout in self.entries()}

    def set_weights(self, weights: Weights) -> None:
        for variable, values in native_arrays(self.entries(), weights):
            variable.assign(values)

    def updates(self) -> int:
        return int(self._optimizer.iterations.numpy())

    def modes(self) -> Modes:
        """Return the modes in force. The programs of a TPU are deterministic."""
        kind = self.devices.kind
        reduced = tf.config.experimental.tensor_float_32_execution_enabled()
        rounding = {"gpu": "tf32", "tpu": "bfloat16"} if reduced else {}
        library = None
        if self.devices.replicas > 1:
            # Not public; but strategies silently fall back to another library.
            options = getattr(self._strategy.extended, "_communication_options", None)
            library = options.implementation.value.lower() if options else "xla"
        return Modes(
            math_mode=rounding.get(kind, "ieee"),
            deterministic=kind == "tpu" or is_op_determinism_enabled(),
            collectives=library,
        )

    def _counting(self) -> list[str]:
        return [name for name in self.device_names if "CPU" not in name]

    def reset_peak_memory(self) -> None:
        for name in self._counting():
            tf.config.experimental.reset_memory_stats(name)

    def peak_device_memory(self) -> int | None:
        infos = map(tf.config.experimental.get_memory_info, self._counting())
        return max((info["peak"] for info in infos), default=None)

    def out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, tf.errors.ResourceExhaustedError) or (
            isinstance(error, tf.errors.OpError) and says_memory_is_full(error.message)
        )

    def unsupported(self, error: Exception) -> bool:
        lacking = tf.errors.UnimplementedError
        return isinstance(error, lacking) and "determinis" in error.message.lower()

    def save(self, folder: Path) -> None:
        np.savez(folder / "state.npz", *self.snapshot())

    def load(self, folder: Path) -> None:
        with np.load(folder / "state.npz") as saved:
            self.restore([saved[name] for name in saved.files])


ENGINE = TensorFlow


def prepare_keras(spec: Spec) -> None:
    """Set the precision and the seed of the models that follow, whose layers are numbered from the start."""
    keras.utils.clear_session(free_memory=False)
    keras.config.disable_traceback_filtering()  # it would put its own line before an error's
    keras.utils.set_random_seed(spec.seed)
    keras.config.set_floatx(spec.weights_precision)
    keras.config.set_dtype_policy("mixed_bfloat16" if spec.mixed else spec.precision)


def set_threads(threads: int) -> None:
    """Limit the threads of an operation and the number of concurrent operations.

    Call it before the first operation of the process. Raises `UserError` if there was one.
    """
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError as error:
        raise UserError(
            f"TensorFlow: {error}; a model or a tensor that a plugin's file creates when it is imported "
            "may have initialized it: create it within a function"
        ) from error


def create_strategy(backend: Backend, replicas: int, world: World) -> tf.distribute.Strategy:
    """Create the backend's strategy over `replicas` devices. Raises `Unavailable` if there are too few."""
    if backend.device != "cpu":
        use_whole_float32()
    if backend.strategy == "tpu":
        strategy = _tpu_strategy(replicas)
    else:
        devices = _open_devices(backend.device, replicas // world.workers, world)
        if backend.strategy == "multiworker":
            strategy = _multiworker_strategy(world, backend.device)
        else:
            strategy = _mirrored(tuple(devices))
    if strategy.num_replicas_in_sync != replicas:
        raise Unavailable(
            f"{replicas} replica(s) asked for; {backend.name} has "
            f"{strategy.num_replicas_in_sync} here"
        )
    return strategy


@cache
def _mirrored(devices: tuple[str, ...]) -> tf.distribute.Strategy:
    """Create a process's only strategy of these devices: a second one would reuse keys of its reductions."""
    return tf.distribute.MirroredStrategy(devices)


def open_device(kind: str) -> tuple[str, str]:
    """Open the first device of a kind; return its name for `tf.device` and the name of its model.

    Raises `Unavailable` if there is none.
    """
    use_whole_float32()
    if kind == "tpu":
        start_tpu()
    physical = tf.config.list_physical_devices(kind.upper())
    if not physical and not tf.config.list_logical_devices(kind.upper()):
        require_devices("TensorFlow", kind, 1, 0)
    model = kind
    if kind == "gpu":
        _use(physical[:1], "GPU")
        model = tf.config.experimental.get_device_details(physical[0]).get("device_name", kind)
    return f"/{kind.upper()}:0", model


def use_whole_float32() -> None:
    """Keep GPUs from rounding float32 to TF32, and TPUs to bfloat16, before they multiply."""
    tf.config.experimental.enable_tensor_float_32_execution(False)


def start_tpu() -> tuple[
    tf.distribute.cluster_resolver.TPUClusterResolver, tf.tpu.experimental.Topology
]:
    """Initialize the TPU that TPU_NAME names, or the local one. Raises `Unavailable` if there is none."""
    try:
        name = os.environ.get("TPU_NAME", "local")
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
        tf.config.experimental_connect_to_cluster(resolver)
        return resolver, tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise Unavailable(f"TensorFlow finds no TPU: {str(error).split('. ')[0]}") from error


def _open_devices(kind: str, count: int, world: World) -> list[str]:
    """Open this worker's `count` devices, on a CPU logical ones that share cores; return their names."""
    physical = tf.config.list_physical_devices(kind.upper())
    if kind == "cpu":
        logical = [tf.config.LogicalDeviceConfiguration()] * count
        tf.config.set_logical_device_configuration(physical[0], logical)
    else:
        require_devices("TensorFlow", kind, count * world.local_workers, len(physical))
        local = physical[count * world.local_rank : count * (world.local_rank + 1)]
        _use(local, kind.upper())
    return [f"/{kind.upper()}:{index}" for index in range(count)]


def _tpu_strategy(replicas: int) -> tf.distribute.Strategy:
    """Place a replica on each of `replicas` cores; the other cores stay idle, as in the parity gate."""
    resolver, topology = start_tpu()
    try:
        cores = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas)
    except ValueError as error:
        raise Unavailable(f"{replicas} replica(s) on tpu asked for: {error}") from error
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=cores)


def _use(devices: list[tf.config.PhysicalDevice], kind: str) -> None:
    tf.config.set_visible_devices(devices, kind)
    for device in devices:
        tf.config.experimental.set_memory_growth(device, True)


def _multiworker_strategy(world: World, kind: str) -> tf.distribute.Strategy:
    """Create the strategy over all workers. Overwrites TF_CONFIG, which might name other workers."""
    os.environ.pop("TF_CONFIG", None)
    if world.workers > 1:
        cluster = {"worker": world.addresses}
        task = {"type": "worker", "index": world.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
        if world.rank == 0:
            ports = ", ".join(str(world.address(rank)[1]) for rank in range(world.workers))
            print(
                f"warning: TensorFlow's workers listen on all interfaces, ports {ports}, without "
                "authentication; use a private network or a firewall",
                flush=True,
            )
    libraries = tf.distribute.experimental.CommunicationImplementation
    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=world.timeout,
        # By default TensorFlow 2.21 would use its own ring for GPUs, too.
        implementation=libraries.NCCL if kind == "gpu" else libraries.RING,
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
