"""JAX: flax's models and one compiled step over a mesh of devices, each batch split over them (SPMD).

The same code runs on TPU cores, GPUs and virtual CPU devices, in one process or several. The partitioned
program computes the same as the program on one device, so that batch norm sees the global batch.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from flax import nnx
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from paragone.base.engine_reports import ALONE, Devices, Metrics, Modes, Programs, World
from paragone.base.errors import Unavailable, first_line, require_devices
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.engines import Probe, Reports, kept_programs
from paragone.engines.jax_optimizers import create_optimizer
from paragone.models import create_model, signature_of
from paragone.models import jax as models
from paragone.models.weights import Weights, decayed, native_arrays
from paragone.tasks import jax as tasks

DETERMINISTIC = "--xla_gpu_deterministic_ops=true"
_COMPILED = "/jax/core/compile/backend_compile_duration"
_CACHED = "/jax/compilation_cache/cache_hits"
_events: Counter[str] = Counter()  # of this process
jax.monitoring.register_event_listener(lambda event, **_: _events.update([event]))
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration, **_: _events.update([event])
)

EVALUATING = {"deterministic": True, "use_running_average": True, "raise_if_not_found": False}

# "params", "statistics" and "optimizer": trees of arrays on the devices; "updates": their number, an array.
State = dict[str, Any]


class Jax(Reports):
    """The engine. Loss and score are summed on the devices and read once per epoch."""

    library = models

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """Do as `Engine.build` says; `threads` has no effect, since XLA follows the process's affinity."""
        kind = spec.backend.device
        jax.config.update("jax_enable_x64", spec.precision == "float64")
        mesh = open_mesh(kind, spec.replicas, world, deterministic=spec.deterministic)
        self.devices = Devices(kind, spec.replicas, world.workers)
        self.device_names = [str(device) for device in mesh.local_devices]
        local = spec.replicas // world.workers
        self.shard = Shard(world.rank * local, (world.rank + 1) * local, spec.replicas)
        self._split = NamedSharding(mesh, PartitionSpec("data"))
        self._split_stacks = NamedSharding(mesh, PartitionSpec(None, "data"))
        self._whole = NamedSharding(mesh, PartitionSpec())
        self._dtype = jnp.dtype(spec.weights_precision)
        self.workload = spec.workload
        initializer, name = spec.workload.initializer, spec.workload.model_name
        with jax.enable_x64(False):  # the same initial values in every precision
            model = create_model(models.MODELS, spec, dataset, rngs=nnx.Rngs(spec.seed))
            self.model = models.trainee(model, name, initializer)
        self.ignores_seed = "rngs" not in signature_of(models.MODELS[name]).parameters
        for _, module in [*nnx.iter_graph(self.model)]:
            if isinstance(module, models.Embedding):
                module.counts = spec.workload.updates_seen_words
            if isinstance(module, models.MaxPool):
                module.compares = bool(spec.tuned("compared_pools"))
        models.compute_in(self.model, spec.precision)
        self._set_graphs()
        _, params, squares, self._streams, statistics = nnx.split(
            self.model, models.is_trained, models.Squares, models.is_random, ...
        )
        self._optimizer, self.update = create_optimizer(spec, self._decayed(params))
        params, squares, statistics = jax.tree.map(
            lambda array: jnp.asarray(array, self._dtype if models.is_floating(array) else None),
            (params, squares, statistics),
        )
        nnx.update(self.model, params, squares, statistics)
        self._squares = self._put_whole(squares)
        state = {
            "params": params,
            "statistics": statistics,
            "optimizer": self._optimizer.init(params),
            "updates": np.uint32(0),
        }
        self._state: State = self._put_whole(state)
        self._train_step = jax.jit(self._train, donate_argnums=(0, 1))
        self._several = int(spec.tuned("steps_per_call") or 1)
        self.warm_up_steps = self._several + 1  # both programs
        self._train_several = jax.jit(self._train_in_turn, donate_argnums=(0, 1))
        self._test_step = jax.jit(self._test, donate_argnums=1)
        # The look at a model makes three passes; to optimize them would take longer than they do.
        quick = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
        self._pass = jax.jit(
            self._forward, static_argnums=4, compiler_options=quick if kind == "cpu" else None
        )
        self._passes = count()

    def _set_graphs(self) -> None:
        self._graph = nnx.graphdef(self.model)
        self._test_graph = nnx.graphdef(nnx.with_attributes(self.model, **EVALUATING))

    def _decayed(self, params: nnx.State) -> nnx.State:
        options = self.workload.optimizer
        decays = {
            id(variable): decayed(len(layout.shape), options)
            for _, variable, layout in self.entries()
        }
        by_path = {path: decays.get(id(variable)) for path, variable in nnx.iter_graph(self.model)}
        return nnx.map_state(lambda path, variable: variable.replace(by_path[path]), params)

    # The device side

    def _called(
        self, states: tuple, inputs: jax.Array, key: jax.Array, trains: bool
    ) -> tuple[nnx.Module, Any]:
        """Return the module with these states, and what it returns for stored examples.

        `key`: of all random numbers, with which the module's own streams begin, too.
        """

        def begun(path: tuple, stream: nnx.Variable) -> nnx.Variable:
            if isinstance(stream, nnx.RngCount):
                return stream.replace(jnp.zeros(stream.shape, stream.dtype))
            begin = jax.random.fold_in(key, paths.index(path))
            return stream.replace(jax.random.split(begin, stream.shape))

        paths = [path for path, _ in nnx.to_flat_state(self._streams)]
        graph = self._graph if trains else self._test_graph
        model = nnx.merge(graph, *states, nnx.map_state(begun, self._streams))
        if scale := self.workload.input:
            inputs = inputs.astype(self._dtype) / scale.divide
            mean, std = (
                jnp.asarray(v, self._dtype) if isinstance(v, tuple) else v
                for v in (scale.mean, scale.std)
            )
            inputs = (inputs - mean) / std
        return model, model(inputs, **models.call_options(model, trains, key))

    def _as_logits(self, outputs: jax.Array) -> jax.Array:
        logits = outputs.astype(self._dtype)
        # Intended: a flaw of the published source, softmax outputs where logits are expected.
        return jax.nn.softmax(logits) if self.workload.loss == "double_softmax" else logits

    def _tested(self, state: State, squares: Any, inputs: jax.Array) -> jax.Array:
        states = state["params"], squares, state["statistics"]
        return self._as_logits(self._called(states, inputs, jax.random.key(0), False)[1])

    def _loss(
        self, variables: tuple, statistics: Any, batch: tuple, key: jax.Array
    ) -> tuple[jax.Array, tuple]:
        """Return the mean loss, and (logits, losses, new statistics). `key`: of dropout masks.

        The statistics are those of batch norm, and all else that the model holds and that is not trained.
        """
        inputs, labels = batch
        # Copies in this trace, since the model assigns them.
        copies = jax.tree.map(lambda array: array, statistics)
        model, outputs = self._called((*variables, copies), inputs, key, True)
        logits = self._as_logits(outputs)
        losses = tasks.losses(self.workload.task, logits, labels)
        if self.workload.task.weighs:
            loss = losses.sum() / tasks.weights(self.workload.task, logits, labels).sum()
        else:
            loss = losses.mean()
        # Not what the pass has added, such as `nnx.Intermediate`; of the same types, as steps are compiled.
        paths = {path for path, _ in nnx.to_flat_state(statistics)}
        after = nnx.state(model, lambda path, _: path in paths)
        after = jax.tree.map(lambda new, old: new.astype(old.dtype), after, statistics)
        return loss, (logits, losses, after)

    def _train(
        self,
        state: State,
        totals: jax.Array,
        squares: Any,
        batch: tuple,
        seed: jax.Array,
        step: jax.Array,
        rate: jax.Array,
    ) -> tuple[State, jax.Array]:
        differentiate = jax.grad(self._loss, has_aux=True)
        key = jax.random.fold_in(jax.random.key(seed), step)
        (gradients, of_words), (logits, losses, statistics) = differentiate(
            (state["params"], squares), state["statistics"], batch, key
        )
        updates, optimizer = self._optimizer.update(
            gradients,
            state["optimizer"],
            state["params"],
            of_words=self._over_occurrences(gradients, of_words),
            rate=rate,
        )
        scale = -1 if self.workload.optimizer_framework else rate
        params = jax.tree.map(lambda weight, by: weight - scale * by, state["params"], updates)
        changed = optimizer.mini_step == 0 if self.workload.accumulated > 1 else True
        new = {
            "params": params,
            "statistics": statistics,
            "optimizer": optimizer,
            "updates": state["updates"] + jnp.uint32(changed),
        }
        return new, totals + self._sums(logits, losses, batch[1], jnp.ones_like(losses))

    def _train_in_turn(
        self,
        state: State,
        totals: jax.Array,
        squares: Any,
        batches: tuple,
        seed: jax.Array,
        steps: jax.Array,
        rates: jax.Array,
    ) -> tuple[State, jax.Array]:
        """`_train` of each of several batches, steps and rates, which are along the first axes."""

        def train(kept: tuple[State, jax.Array], step_of_call: tuple) -> tuple:
            batch, step, rate = step_of_call
            return self._train(*kept, squares, batch, seed, step, rate), None

        return jax.lax.scan(train, (state, totals), (batches, steps, rates))[0]

    def _over_occurrences(self, gradients: nnx.State, of_words: nnx.State) -> nnx.State:
        """Return squared gradients, those of an embedding summed over the occurrences of each word.

        Or, where words count only as seen, ones, and of an embedding how often each word occurs.
        """
        squares = jax.tree.map(
            jnp.ones_like if self.workload.updates_seen_words else jnp.square, gradients
        )
        if self.workload.deduplicates and not self.workload.updates_seen_words:
            return squares
        by_layer = {path[:-1]: sums for path, sums in nnx.to_flat_state(of_words)}

        def of_layer(path: tuple, square: nnx.Variable) -> nnx.Variable:
            layer = path[:-1]
            return square.replace(by_layer[layer][...]) if layer in by_layer else square

        return nnx.map_state(of_layer, squares)

    def _test(self, state: State, totals: jax.Array, squares: Any, batch: tuple) -> jax.Array:
        inputs, labels, weights = batch
        logits = self._tested(state, squares, inputs)
        losses = tasks.losses(self.workload.task, logits, labels)
        return totals + self._sums(logits, losses, labels, weights)

    def _forward(
        self, state: State, squares: Any, inputs: jax.Array, seed: jax.Array, trains: bool
    ) -> Any:
        """Return what the model returns, in training or not, if it is an array; else it is in `_returned`."""
        states = state["params"], squares, state["statistics"]
        self._returned = self._called(states, inputs, jax.random.key(seed), trains)[1]
        return self._returned if isinstance(self._returned, jax.Array) else None

    def _sums(
        self, logits: jax.Array, losses: jax.Array, labels: jax.Array, counted: jax.Array
    ) -> jax.Array:
        """Return the sums that `Metrics.of_sums` takes, over `counted` examples, float32."""
        task, ones = self.workload.task, jnp.ones_like(losses)
        weights, counts, scores = (
            of(task, logits, labels) for of in (tasks.weights, tasks.counts, tasks.scores)
        )
        summands = (losses, weights, counts, ones, *scores)
        weighted = [(values * counted.astype(values.dtype)).sum() for values in summands]
        return jnp.stack(weighted).astype(jnp.float32)

    # The host side

    def _put_whole(self, tree: Any) -> Any:
        """Replicate a tree of arrays, equal in every process, on every device."""
        if self.devices.workers == 1:
            return jax.device_put(tree, self._whole, may_alias=False)  # a step takes its memory
        return jax.tree.map(
            lambda array: jax.make_array_from_process_local_data(self._whole, np.asarray(array)),
            tree,
        )

    def _put(self, batch: tuple, axis: int = 0) -> tuple:
        """Put this process's part of a batch on its devices, split by examples where they divide evenly.

        `axis`: that of the examples, 1 where batches are stacked.
        """
        split = self._split if axis == 0 else self._split_stacks
        if self.devices.workers == 1:
            divides = batch[0].shape[axis] % self.devices.replicas == 0
            return jax.device_put(batch, split if divides else self._whole)
        return tuple(jax.make_array_from_process_local_data(split, part) for part in batch)

    def _calls(self, batches: Iterable[tuple]) -> Iterator[tuple[tuple, int]]:
        batches = iter(batches)
        while some := list(islice(batches, self._several)):
            whole = len(some) == self._several and len(some[0][0]) == len(some[-1][0])
            if self._several > 1 and whole:
                yield self._put(tuple(map(np.stack, zip(*some, strict=True))), axis=1), len(some)
            else:
                yield from ((self._put(batch), 1) for batch in some)

    def _totals(self) -> jax.Array:
        return self._put_whole(np.zeros(4 + len(self.workload.task.scores), np.float32))

    def snapshot(self) -> State:
        # To the host: on the device it would be part of the peak, which JAX cannot reset.
        return jax.tree.map(lambda array: np.array(array.addressable_data(0)), self._state)

    def restore(self, snapshot: State) -> None:
        self._state = {}  # gives its memory back first
        self._state = self._put_whole(snapshot)

    def train_epoch(
        self, seed: int, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        start, totals = np.uint32(seed), self._totals()
        pairs = np.arange(steps, dtype=np.uint32), np.array(learning_rates, self._dtype)
        taken = 0
        for batch, number in self._calls(batches):
            places = taken if number == 1 else slice(taken, taken + number)
            train = self._train_step if number == 1 else self._train_several
            numbers = (values[places] for values in pairs)
            self._state, totals = train(self._state, totals, self._squares, batch, start, *numbers)
            taken += number
        if taken != steps:
            raise ValueError(f"{taken} batches for {steps} steps")
        return means(totals)

    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        totals = self._totals()
        for batch in batches:
            totals = self._test_step(self._state, totals, self._squares, self._put(batch))
        return means(totals)

    def predict(self, inputs: np.ndarray) -> np.ndarray:

        @jax.jit
        def compute(state: State, squares: nnx.State, inputs: jax.Array) -> jax.Array:
            return jax.nn.softmax(self._tested(state, squares, inputs))

        probabilities = compute(self.snapshot(), nnx.state(self.model, models.Squares), inputs)
        return np.asarray(probabilities, np.float32)

    def probe(self, batch: tuple) -> Probe:
        differentiate = jax.jit(jax.value_and_grad(self._loss, has_aux=True))
        (loss, (logits, _, statistics)), (gradients, _) = differentiate(
            (self._state["params"], self._squares),
            self._state["statistics"],
            self._put(batch),
            jax.random.key(0),
        )
        self._state["statistics"] = statistics
        nnx.update(self.model, gradients)  # which keeps the order of its layers
        by_name = {
            name: layout.canonical(variable[...])
            for name, variable, layout in self.entries()
            if models.is_trained((), variable)
        }
        return Probe(np.asarray(logits), float(loss), by_name)

    def outputs(self, inputs: np.ndarray, trains: bool = True) -> Any:
        seed = np.uint32(next(self._passes))
        arrays = self._state, self._squares, self._put_whole(inputs), seed
        outputs = self._pass(*arrays, trains)
        return self._returned if outputs is None else np.asarray(outputs)

    def dropout_off(self) -> bool:
        was_on = models.dropout_off(self.model)
        self._set_graphs()
        return was_on

    def weights(self) -> Weights:
        state = self.snapshot()
        nnx.update(self.model, state["params"], state["statistics"])
        return {name: layout.canonical(variable[...]) for name, variable, layout in self.entries()}

    def set_weights(self, weights: Weights) -> None:
        for variable, values in native_arrays(self.entries(), weights):
            variable.set_value(jnp.asarray(values, self._dtype))
        params, _, _, statistics = nnx.state(
            self.model, models.is_trained, models.Squares, models.is_random, ...
        )
        self._state |= self._put_whole({"params": params, "statistics": statistics})

    def updates(self) -> int:
        return int(self._state["updates"].addressable_data(0))

    def programs(self) -> Programs:
        """Return how many programs this process has compiled or found; JAX times those of its cache, too."""
        return Programs(compiled=_events[_COMPILED] - _events[_CACHED], cached=_events[_CACHED])

    def modes(self) -> Modes:
        """Return the modes in force. XLA's programs for CPUs and TPUs are deterministic."""
        kind, chosen = self.devices.kind, jax.config.jax_default_matmul_precision
        flags = os.environ.get("XLA_FLAGS", "")
        library = {"gpu": "nccl", "cpu": "gloo" if self.devices.workers > 1 else "xla"}
        return Modes(
            math_mode="ieee" if kind == "cpu" or chosen == "highest" else str(chosen or "default"),
            deterministic=kind != "gpu" or DETERMINISTIC in flags,
            collectives=library.get(kind, "xla") if self.devices.replicas > 1 else None,
        )

    def peak_device_memory(self) -> int | None:
        every = [device.memory_stats() for device in self._split.mesh.local_devices]
        return max((stats["peak_bytes_in_use"] for stats in every if stats), default=None)

    def unsupported(self, error: Exception) -> bool:
        return isinstance(error, jax.errors.JaxRuntimeError) and "UNIMPLEMENTED" in str(error)

    def save(self, folder: Path) -> None:
        np.savez(folder / "state.npz", *jax.tree.leaves(self.snapshot()))

    def load(self, folder: Path) -> None:
        with np.load(folder / "state.npz") as saved:
            leaves = [saved[name] for name in saved.files]
        self._state = self._put_whole(jax.tree.unflatten(jax.tree.structure(self._state), leaves))


ENGINE = Jax


def means(totals: jax.Array) -> Metrics:
    """Return the means from the totals of sums; waits for the devices."""
    return Metrics.of_sums(*np.asarray(totals.addressable_data(0)).tolist())


def open_mesh(
    kind: str, replicas: int, world: World = ALONE, *, deterministic: bool = False
) -> Mesh:
    """Open a mesh with the axis "data" over `replicas` devices of a kind, on a CPU virtual ones.

    Call it before the first operation of the process. Raises `Unavailable` if there are too few devices.
    """
    local = replicas // world.workers
    if kind != "cpu":
        # Float32 is float32: by default a GPU rounds to TF32, a TPU to bfloat16, before it multiplies.
        jax.config.update("jax_default_matmul_precision", "highest")
    if kind == "gpu" and deterministic:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {DETERMINISTIC}".strip()
    jax.config.update("jax_platforms", {"gpu": "cuda"}.get(kind, kind))
    if kind == "cpu":
        jax.config.update("jax_num_cpu_devices", local)
        if local > 1:
            # Devices share a pool of a thread per core, and a reduction that waits for another device keeps
            # one: in the text CNN two devices on two cores hang, and XLA aborts. Four threads were enough.
            cores = len(os.sched_getaffinity(0))
            os.environ["PJRT_NPROC"] = str(max(cores, 8 * local))
        # All programs, however small; on CPUs, where to compile again gives the same program: on GPUs it
        # tries out kernels anew.
        versions = ("jax", jax.__version__, jaxlib.__version__)
        if folder := kept_programs(*versions) if world.workers == 1 else None:
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    if world.workers > 1:
        _join(kind, local, world)
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:  # JAX asserts that a plug-in exists
        reason = first_line(error) if str(error) else "no plug-in"
        raise Unavailable(f"JAX finds no {kind}: {reason}") from error
    require_devices("JAX", kind, replicas, len(devices))
    return jax.make_mesh((replicas,), ("data",), (AxisType.Auto,), devices=devices[:replicas])


def _join(kind: str, local: int, world: World) -> None:
    """Join the other processes. Rank 0 serves their addresses, bound to its own address.

    By default it would listen on all interfaces.
    """
    if kind == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    first = local * world.local_rank
    jax.distributed.initialize(
        coordinator_address=world.addresses[0],
        coordinator_bind_address=world.addresses[0],
        num_processes=world.workers,
        process_id=world.rank,
        local_device_ids=[*range(first, first + local)] if kind == "gpu" else None,
        initialization_timeout=math.ceil(world.timeout),
        heartbeat_timeout_seconds=math.ceil(world.timeout),
        shutdown_timeout_seconds=math.ceil(world.timeout),
        cluster_detection_method="deactivate",
    )
