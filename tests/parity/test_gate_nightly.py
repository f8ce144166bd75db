"""The parity gate on slow workloads, through the backends that test_gate.py leaves out."""

from pathlib import Path

import pytest
from parity.probing import NIGHTLY, SLOW, judge, observe
from parity.test_gate import check_passed

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def slow_references(in_one_folder, tmp_path_factory) -> Path:
    """The slow workloads on the reference."""
    folder = tmp_path_factory.mktemp("slow_references")
    observe("reference", SLOW, in_one_folder, folder)
    return folder


@pytest.mark.parametrize("backend", NIGHTLY)
def test_slow_workloads_pass_on_the_other_backends(
    slow_references, in_one_folder, tmp_path, backend
):
    observe(backend, NIGHTLY[backend], in_one_folder, tmp_path)
    for workload in NIGHTLY[backend]:
        reference, found = slow_references / workload / "reference.npz", tmp_path / workload
        probes = [found / f"{backend}.npz"]
        check_passed(workload, judge(workload, reference, probes, found / "v.json")[backend])
