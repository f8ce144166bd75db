"""What `make test-nightly` tests: what compiles for minutes, and other seeds; examples/ are in nightly/."""

import pytest
from parity.probing import judge, probe_command
from parity.test_engines import (
    test_a_run_takes_the_steps_of_the_reference,
    test_a_wrong_engine_of_several_replicas_is_refused,
    test_an_engine_keeps_its_contract,
    test_every_protocol_passes,
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason,
    test_every_wrong_engine_is_refused_for_its_reason,
)
from parity.test_gate import WORKLOADS, probes, test_every_backend_passes  # noqa: F401 - a test of PROBED
from workspace import CONFIG, config_of, succeed

from paragone.config.expand import probe

pytestmark = pytest.mark.nightly

FRAMEWORKS = ["torch", "torch-xla", "jax", "tensorflow-mirrored"]
MIXED = ["torch", "tensorflow-mirrored", "torch-xla", "torch-compile", "jax"]
CELLS = {
    test_an_engine_keeps_its_contract: [
        ("torch-compile", 1),
        ("torch-fsdp", 2),
        ("jax-multiprocess", 2),
    ],
    test_a_run_takes_the_steps_of_the_reference: [
        ("tensorflow-multiworker", 2, "float64"),
        ("jax-multiprocess", 2, "float64"),
        ("tensorflow-multiworker", 2, "float64", "reuters-cnn"),
        ("torch-xla", 2, "float64", "reuters-cnn"),
        ("jax", 2, "float64", "reuters-cnn"),
        ("torch-compile", 1, "float32", "fashion-conv", 64, "tuned"),
        *((name, 2, "bfloat16") for name in ("torch-fsdp", "jax-multiprocess")),
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
    test_every_protocol_passes: [("torch-xla", "but enlarged images")],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: ["torch-xla"],
    test_every_wrong_engine_is_refused_for_its_reason: [
        *((name, "cosine", "float64") for name in ("torch", "jax", "tensorflow-mirrored")),
        *((name, "wide-resnet", "float64") for name in FRAMEWORKS),
        ("torch-xla", "fashion-cnn", "float64"),
        *(
            (name, workload, "float32")
            for name in ("torch", "jax", "tensorflow-mirrored")
            for workload in ("fashion-cnn", "wide-resnet")
        ),
    ],
}
DEEP = ["fashion-conv", "mobilenet-v2", "wide-resnet"]
PROBED = {
    **dict.fromkeys(["torch-xla", "jax", "torch-compile"], DEEP),
    **dict.fromkeys(["torch-ddp", "torch-fsdp", "tensorflow-multiworker"], WORKLOADS),
}
SEEDS = range(1, 21)
SEEDED = ["reference", "torch", "tensorflow-mirrored", "jax", "torch-xla", "torch-compile"]


@pytest.mark.parametrize("name", ["fashion-cnn", "fashion-conv", "reuters-cnn", "wide-resnet"])
def test_every_backend_passes_with_every_seed(data_of, tmp_path, name):
    """One process per backend probes all seeds: a gate that refuses one in some hundred is no gate."""
    arrays = data_of[CONFIG["workloads"][name]["dataset"]]
    for backend in SEEDED:
        specs = [probe(config_of({**CONFIG, "seed": seed}), name, backend) for seed in SEEDS]
        outputs = [tmp_path / str(seed) / f"{backend}.npz" for seed in SEEDS]
        succeed(probe_command(specs, [arrays], outputs), timeout=3600)
    for seed in SEEDS:
        files = [tmp_path / str(seed) / f"{backend}.npz" for backend in SEEDED]
        verdicts = judge(name, files[0], files[1:], tmp_path / f"{seed}.json")
        failed = {
            backend: each["reason"] for backend, each in verdicts.items() if not each["passed"]
        }
        assert failed == {}, seed
