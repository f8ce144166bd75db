"""What `make test-nightly` tests: what compiles for minutes, and other seeds; examples/ are in nightly/."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from parity.conftest import TEXTS
from parity.probing import judge, probe_command, probe_in_one_process
from parity.protocols import NADAM
from parity.test_engines import (
    test_a_record_shows_what_was_wrong,
    test_a_run_takes_the_steps_of_the_reference,
    test_an_engine_keeps_its_contract,
    test_every_protocol_passes,
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason,
    test_every_wrong_engine_is_refused_for_its_reason,
)
from parity.test_full import (
    test_a_record_of_several_replicas_shows_what_was_wrong,
    test_a_wrong_engine_of_several_replicas_is_refused,
    test_class_weights_are_averaged_over_the_global_batch,
)
from parity.test_gate import probes, test_every_backend_passes  # noqa: F401 - a test of PROBED
from workspace import CONFIG, call, config_of

from paragone.config.expand import probe
from paragone.engines.reference import RULES

pytestmark = pytest.mark.nightly

FRAMEWORKS = ["torch", "torch-xla", "jax", "tensorflow-mirrored"]
MIXED = ["torch", "tensorflow-mirrored", "torch-xla", "torch-compile", "jax"]
WORKLOADS = ["fashion-cnn", "fashion-conv", "mobilenet-v2", "wide-resnet", *TEXTS]
CELLS = {
    test_every_backend_passes: WORKLOADS,
    test_an_engine_keeps_its_contract: [
        ("torch-compile", 1),
        ("torch-fsdp", 2),
        ("tensorflow-multiworker", 2),
        ("jax-multiprocess", 2),
    ],
    test_a_run_takes_the_steps_of_the_reference: [
        ("tensorflow-multiworker", 2, "float64"),
        ("jax-multiprocess", 2, "float64"),
        ("tensorflow-mirrored", 2, "float64", "reuters-cnn"),
        ("tensorflow-multiworker", 2, "float64", "reuters-cnn"),
        ("torch-xla", 2, "float64", "reuters-cnn"),
        ("jax", 2, "float64", "reuters-cnn"),
        ("jax", 2, "float32", "fashion-conv", 64, "tuned"),
        *((name, 1, "float32", "fashion-conv", 64, "tuned") for name in ("torch", "torch-compile")),
        # Of which inductor makes none on a CPU.
        ("torch-compile", 1, "float32", "fashion-conv", 64, {"options": {"cuda_graphs": True}}),
        *((name, 2, "bfloat16") for name in ("torch-ddp", "torch-fsdp", "jax-multiprocess")),
        *(
            (name, 1, "bfloat16", workload, 32)
            for name in MIXED
            for workload in ("fashion-conv", "reuters-cnn", "wide-resnet")
            if (name, workload) != ("torch-xla", "wide-resnet")  # see docs/backends.md
        ),
    ],
    test_a_wrong_engine_of_several_replicas_is_refused: [
        ("tensorflow-mirrored", "mean-over-a-replica", "updates"),
        ("tensorflow-mirrored", "each-replica-has-the-first-part", "updates"),
        ("tensorflow-mirrored", "statistics-of-the-first-replica", "means"),
        ("torch-fsdp", "statistics-twice-those-of-the-first-replica", "means"),
        ("torch-fsdp", "replicas-on-their-own", "updates"),
    ],
    test_a_record_shows_what_was_wrong: [
        "torch-compile",
        "torch-xla",
        "jax",
        "tensorflow-mirrored",
    ],
    test_a_record_of_several_replicas_shows_what_was_wrong: [
        ("tensorflow-mirrored", "metrics-of-the-first-replica"),
        ("torch-fsdp", "metrics-of-the-first-replica"),
    ],
    test_class_weights_are_averaged_over_the_global_batch: ["tensorflow-mirrored"],
    test_every_protocol_passes: [
        ("torch-xla", "but enlarged images"),
        *((name, "all") for name in ("jax", "tensorflow-mirrored")),
    ],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: ["torch-xla"],
    test_every_wrong_engine_is_refused_for_its_reason: [
        *(
            (name, workload, "float64", "all")
            for name in FRAMEWORKS
            for workload in ("fashion-cnn", "cosine", "wide-resnet")
            if (name, workload) not in [("torch", "fashion-cnn"), ("torch-xla", "cosine")]
        ),
        *(
            (name, workload, "float32", "all")
            for name in ("torch", "jax", "tensorflow-mirrored")
            for workload in ("fashion-cnn", "wide-resnet")
        ),
    ],
}
PROBED = dict.fromkeys(
    [*FRAMEWORKS, "torch-compile", "torch-ddp", "torch-fsdp", "tensorflow-multiworker"], WORKLOADS
)
SEEDS = range(1, 21)
SEEDED = ["reference", "torch", "tensorflow-mirrored", "jax", "torch-xla", "torch-compile"]


def test_nadam_of_the_reference_is_that_of_keras_2():
    """TensorFlow still contains the class. Of words, those that a batch has move; all moments decay."""
    import tensorflow as tf
    from tensorflow.python.keras import backend
    from tensorflow.python.keras.optimizer_v2.nadam import Nadam

    rate, random, state = 1 / 128, np.random.default_rng(0), defaultdict(float)
    options = {key: value for key, value in NADAM.items() if key != "name"}
    backend.set_floatx("float64")
    optimizer, words = Nadam(rate, **options), tf.Variable(random.normal(size=(4, 3)))
    expected = words.numpy()
    for step, batch in enumerate([[0, 1], [1, 2], [2, 0], [3, 1]], start=1):
        gradients = random.normal(size=(2, 3))
        whole = np.zeros((4, 3))
        whole[batch] = gradients
        whole = torch.from_numpy(whole)
        move = RULES["nadam"](NADAM | {"rule": "keras-2"}, step, whole, whole**2, state)
        expected[batch] -= rate * move.numpy()[batch]
        optimizer.apply_gradients([(tf.IndexedSlices(gradients, batch, (4, 3)), words)])
    backend.set_floatx("float32")
    np.testing.assert_allclose(words.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["fashion-cnn", "fashion-conv", "reuters-cnn", "wide-resnet"])
def test_every_backend_passes_with_every_seed(data_of, tmp_path, name):
    """One process per backend probes all seeds: a gate that refuses one in some hundred is no gate."""
    arrays = data_of[CONFIG["workloads"][name]["dataset"]]
    for backend in SEEDED:
        specs = [probe(config_of({**CONFIG, "seed": seed}), name, backend) for seed in SEEDS]
        outputs = [tmp_path / str(seed) / f"{backend}.npz" for seed in SEEDS]
        probe_in_one_process(specs, [arrays], outputs)
    for seed in SEEDS:
        files = [tmp_path / str(seed) / f"{backend}.npz" for backend in SEEDED]
        verdicts = judge(name, files[0], files[1:])
        failed = {
            backend: each["reason"] for backend, each in verdicts.items() if not each["passed"]
        }
        assert failed == {}, seed


def test_jax_takes_kept_programs_and_computes_the_same(small, tmp_path_factory):
    """One that is damaged is compiled again."""
    spec, folder = probe(config_of(), "fashion-conv", "jax"), tmp_path_factory.mktemp("t")

    def computed(name: str) -> dict[str, bytes]:
        output = folder / f"{name}.npz"
        done = call(probe_command(spec, small, output), TMPDIR=str(folder))
        assert done.returncode == 0, done.stderr
        with np.load(output) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}

    first = computed("first")
    kept = {*folder.glob("paragone-*/programs/*/*-cache")}
    (step,) = (path for path in kept if path.name.startswith("jit__train-"))
    step.write_bytes(step.read_bytes()[:100])
    assert computed("second") == first
    assert {*folder.glob("paragone-*/programs/*/*-cache")} == kept
