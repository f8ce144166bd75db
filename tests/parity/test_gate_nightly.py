"""The gate on what test_gate.py leaves out, and with other seeds. examples/: nightly/."""

import pytest
from parity import test_gate
from parity.probing import judge, probe_command
from workspace import CONFIG, succeed

from paragone.config.expand import probe

pytestmark = pytest.mark.nightly

WORKLOADS = test_gate.WORKLOADS
DEEP = ["fashion-conv", "mobilenet-v2", "wide-resnet"]
PROBED = {
    **dict.fromkeys(["torch-xla", "jax", "torch-compile", "keras-fit"], DEEP),
    **dict.fromkeys(["torch-ddp", "torch-fsdp", "tensorflow-multiworker"], WORKLOADS),
}
SEEDS = range(1, 21)
SEEDED = ["reference", "torch", "tensorflow-mirrored", "jax", "torch-xla", "torch-compile"]
probes = test_gate.probes
test_every_backend_passes = test_gate.test_every_backend_passes


@pytest.mark.parametrize("name", ["fashion-cnn", "fashion-conv", "reuters-cnn", "wide-resnet"])
def test_every_backend_passes_with_every_seed(data_of, tmp_path, name):
    """One process per backend probes all seeds: a gate that refuses one in some hundred is no gate."""
    arrays = data_of[CONFIG["workloads"][name]["dataset"]]
    for backend in SEEDED:
        specs = [probe({**CONFIG, "seed": seed}, name, backend) for seed in SEEDS]
        outputs = [tmp_path / str(seed) / f"{backend}.npz" for seed in SEEDS]
        succeed(probe_command(specs, [arrays], outputs), timeout=3600)
    for seed in SEEDS:
        files = [tmp_path / str(seed) / f"{backend}.npz" for backend in SEEDED]
        verdicts = judge(name, files[0], files[1:], tmp_path / f"{seed}.json")
        failed = {
            backend: each["reason"] for backend, each in verdicts.items() if not each["passed"]
        }
        assert failed == {}, seed
