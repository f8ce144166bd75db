"""What TensorFlow is asked for, and where it splits batches: a program, since devices are set once.

    python observe_tensorflow.py <"mirrored", "nccl", "tpu" or "cores">

Prints facts as JSON.
"""

import json
import sys
from contextlib import suppress
from types import SimpleNamespace
from unittest.mock import patch

from made_images import make_images
from msgspec.structs import asdict, replace
from workspace import make_spec

from paragone.base.errors import Unavailable
from paragone.data.batches import train_batches

SPEC = make_spec("fashion-conv", "tensorflow-mirrored", 2, global_batch=16, steps_per_epoch=2)


def mirrored() -> dict:
    """Two logical CPU devices: modes, where the graph of an epoch splits batches, seconds of input."""
    import tensorflow as tf

    from paragone.engines.tensorflow import TensorFlow

    dataset, engine = make_images(), TensorFlow()
    engine.build(SPEC, dataset, 1)
    engine._batches = train_batches(dataset, SPEC, 1)
    iterator = iter(engine._train_pipeline)
    traced = engine._train_loop.get_concrete_function(iterator, tf.constant(2))
    graph = traced.graph.as_graph_def()
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    splits = sorted({node.device for node in nodes if node.op == "Split" and node.device})
    unplaced = [node.name for node in nodes if node.op == "Split" and not node.device]
    modes = engine.modes()
    return {
        "modes": asdict(modes),
        "splits": splits,
        "unplaced": unplaced,
        "input": engine.input_seconds(),
    }


def nccl() -> dict:
    """The communication that workers on GPUs ask for, and workers on CPUs."""
    from paragone.base.ranks import ALONE
    from paragone.engines import tensorflow_devices

    asked = {}
    for kind in ("gpu", "cpu"):
        strategy = tensorflow_devices._multiworker_strategy(ALONE, kind)
        asked[kind] = strategy.extended._communication_options.implementation.value
    return asked


def tpu() -> dict:
    """Whether a build for a TPU, which is not there, has switched op determinism on."""
    from tensorflow.python.framework.config import is_op_determinism_enabled

    from paragone.engines.tensorflow import TensorFlow

    backend = {**SPEC.backend, "strategy": "tpu", "device": "tpu"}
    with suppress(Unavailable):
        TensorFlow().build(replace(SPEC, backend=backend), make_images(), 1)
    return {"deterministic": is_op_determinism_enabled(), "asked": SPEC.deterministic}


def cores() -> dict:
    """The cores of a TPU v2-8 that so many replicas take, or why they cannot; its real topology, no TPU."""
    import numpy as np
    import tensorflow as tf

    from paragone.base.ranks import ALONE
    from paragone.engines import tensorflow_devices

    places = [[x, y, 0, core] for y in range(2) for x in range(2) for core in range(2)]
    topology = tf.tpu.experimental.Topology(
        mesh_shape=[2, 2, 1, 2], device_coordinates=np.array([places], np.int32)
    )
    taken = {}

    def strategy(resolver, experimental_device_assignment):
        found = experimental_device_assignment
        taken[found.num_replicas] = [found.tpu_device(one) for one in range(found.num_replicas)]
        return SimpleNamespace(num_replicas_in_sync=found.num_replicas)

    backend = {**SPEC.backend, "strategy": "tpu", "device": "tpu"}
    with (
        patch.object(tensorflow_devices, "start_tpu", lambda: (None, topology)),
        patch.object(tf.distribute, "TPUStrategy", strategy),
    ):
        for replicas in (1, 8):
            tensorflow_devices.create_strategy(backend, replicas, ALONE)
        try:
            tensorflow_devices.create_strategy(backend, 16, ALONE)
        except Unavailable as error:
            taken[16] = str(error)
    return taken


WHAT = {"mirrored": mirrored, "nccl": nccl, "tpu": tpu, "cores": cores}

if __name__ == "__main__":
    print(json.dumps(WHAT[sys.argv[1]]()))
