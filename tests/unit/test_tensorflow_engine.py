"""What TensorFlow is asked for on devices that this machine may lack; in a process of its own."""

import os
import sys
from contextlib import suppress
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from made_images import make_images
from workspace import ROOT, changed, make_spec, succeed

from paragone.base.engine_reports import ALONE
from paragone.base.errors import Unavailable
from paragone.data.batches import train_batches

pytestmark = pytest.mark.full

SPEC = make_spec("fashion-conv", "tensorflow-mirrored", 2, global_batch=16, steps_per_epoch=2)
ON_TPU = changed(SPEC, backend={"strategy": "tpu", "device": "tpu"})


def batches_are_split_on_the_host():
    """Else they would all go to the first GPU, and from there to the others; here two logical CPUs.

    Workers on GPUs ask for NCCL.
    """
    import tensorflow as tf

    from paragone.engines import tensorflow
    from paragone.engines.tensorflow import TensorFlow

    dataset, engine = make_images(), TensorFlow()
    engine.build(SPEC, dataset, 1)
    engine._batches = train_batches(dataset, SPEC, 1)
    iterator = iter(engine._train_pipeline)
    graph = engine._train_loop.get_concrete_function(iterator, tf.constant(2)).graph.as_graph_def()
    nodes = [*graph.node, *(node for each in graph.library.function for node in each.node_def)]
    splits = [node.device for node in nodes if node.op == "Split"]
    assert splits
    assert all(device.endswith("CPU:0") for device in splits)

    for kind, library in (("gpu", "NCCL"), ("cpu", "RING")):
        strategy = tensorflow._multiworker_strategy(ALONE, kind)
        assert strategy.extended._communication_options.implementation.value == library


def a_replica_takes_one_core_of_a_tpu_which_has_no_op_determinism():
    """The parity gate's steps are those of one replica, whatever the cores; a v2-8's topology, no TPU."""
    import tensorflow as tf
    from tensorflow.python.framework import config

    from paragone.engines import tensorflow
    from paragone.engines.tensorflow import TensorFlow

    places = [[x, y, 0, core] for y in range(2) for x in range(2) for core in range(2)]
    topology = tf.tpu.experimental.Topology(
        mesh_shape=[2, 2, 1, 2], device_coordinates=np.array([places], np.int32)
    )
    cores = []

    def strategy(resolver, experimental_device_assignment):
        taken = experimental_device_assignment
        names = [taken.tpu_device(replica) for replica in range(taken.num_replicas)]
        cores.append([int(name.rpartition(":")[2]) for name in names])
        return SimpleNamespace(num_replicas_in_sync=taken.num_replicas)

    with (
        patch.object(tensorflow, "start_tpu", lambda: (None, topology)),
        patch.object(tf.distribute, "TPUStrategy", strategy),
    ):
        for replicas in (1, 8):
            tensorflow.create_strategy(ON_TPU.backend, replicas, ALONE)
        with pytest.raises(Unavailable, match=r"16 replica\(s\) on tpu asked for: "):
            tensorflow.create_strategy(ON_TPU.backend, 16, ALONE)
    assert cores == [[0], [*range(8)]]
    assert ON_TPU.deterministic
    config.disable_op_determinism()
    with suppress(Unavailable):
        TensorFlow().build(ON_TPU, make_images(), 1)
    assert not config.is_op_determinism_enabled()


def test_tensorflow_is_asked_for_what_other_devices_need():
    paths = os.pathsep.join(str(ROOT / name) for name in ("scripts", "tests", "tests/unit"))
    succeed([sys.executable, __file__], PYTHONPATH=paths, TPU_SKIP_MDS_QUERY="1")


if __name__ == "__main__":
    batches_are_split_on_the_host()
    a_replica_takes_one_core_of_a_tpu_which_has_no_op_determinism()
