"""The contract of engines that compile, or that are several processes of TensorFlow."""

import pytest
from parity import test_engines
from parity.driving import observe_engine
from workspace import make_spec, run_python

pytestmark = pytest.mark.full

CELLS = [
    ("tensorflow-mirrored", 3),
    ("tensorflow-multiworker", 2),
    ("torch-xla", 2),
    ("jax", 2),
]
test_an_engine_keeps_its_contract = test_engines.test_an_engine_keeps_its_contract


def test_a_window_of_many_replicas_ends_with_its_work(small, tmp_path):
    """tf.data's own tuning made windows of many replicas end long after their last batch."""
    spec = make_spec("fashion-cnn", "tensorflow-mirrored", 8, steps_per_epoch=5)
    (facts,) = observe_engine("tails", spec, small, tmp_path)
    assert max(facts["tails"]) < 0.5


def test_one_thread_of_pytorch_copies_for_the_devices_of_xla():
    """More would spin beside those of XLA, which have the same cores."""
    run_python(
        "import torch; torch.set_num_threads(2)\n"
        "from paragone.engines.torch_xla_devices import choose; choose('cpu', 2)\n"
        "assert torch.get_num_threads() == 1"
    )
