"""TensorFlow's threads, devices, strategies and TPU, for the engine and the microbenchmarks."""

import json
import os

from paragone.base.errors import Unavailable, require_devices
from paragone.base.ranks import World
from paragone.base.tensorflow import tf
from paragone.config.run_spec import Backend


def set_threads(threads: int) -> None:
    """Limit the threads of an operation and the number of concurrent operations.

    Call it before the first operation of the process.
    """
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


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
            strategy = tf.distribute.MirroredStrategy(devices)
    if strategy.num_replicas_in_sync != replicas:
        raise Unavailable(
            f"{replicas} replica(s) asked for; {backend.name} has "
            f"{strategy.num_replicas_in_sync} here"
        )
    return strategy


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


def workers_of(strategy: tf.distribute.Strategy) -> int:
    """Return the number of processes of a strategy."""
    resolver = strategy.cluster_resolver
    jobs = resolver.cluster_spec().as_dict() if resolver else {}
    return max(1, len(jobs.get("worker", ())))


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
    """Open only these devices of a kind, and allocate their memory as needed."""
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
