"""The parity gate with other seeds than the config's: other weights, batches and augmentation."""

import pytest
from parity.probing import ABSENT, BACKENDS, judge, probe_command
from workspace import CONFIG, succeed

from paragone.config.expand import probe

SEEDS = range(1, 21)
WORKLOADS = {
    "fashion-cnn": "fashion_mnist",
    "fashion-conv": "fashion_mnist",
    "reuters-cnn": "reuters",
    "wide-resnet": "fashion_mnist",
}
NAMES = ["reference", *(name for name in BACKENDS if name not in ABSENT)]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_backend_passes_with_every_seed(data_of, tmp_path, workload):
    """One process per backend probes all seeds: a gate that refuses one in some hundred is no gate."""
    arrays = data_of[WORKLOADS[workload]]
    for backend in NAMES:
        specs = [probe({**CONFIG, "seed": seed}, workload, backend) for seed in SEEDS]
        outputs = [tmp_path / str(seed) / f"{backend}.npz" for seed in SEEDS]
        succeed(probe_command(specs, [arrays], outputs), timeout=3600)
    for seed in SEEDS:
        probes = [tmp_path / str(seed) / f"{backend}.npz" for backend in NAMES]
        verdicts = judge(workload, probes[0], probes[1:], tmp_path / f"{seed}.json")
        failed = {name: one["reason"] for name, one in verdicts.items() if not one["passed"]}
        assert failed == {}, seed
