"""The workloads of examples/ pass the gate as configured, on more backends and in both precisions."""

import pytest
from parity.test_examples import BACKENDS, Gate
from workspace import OF_EXAMPLES, ROOT

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_as_configured_in_more_backends_and_both_precisions(
    stand_ins_in_one_folder, tmp_path, precision
):
    gate = Gate(ROOT / "examples", tmp_path, stand_ins_in_one_folder, {})
    backends = [*BACKENDS, "torch-compile", "torch-xla"]
    gate.observe([*backends, "reference"], precision)
    for workload in OF_EXAMPLES:
        reference = tmp_path / precision
        for backend, verdict in gate.verdicts(workload, backends, reference, precision).items():
            assert verdict["passed"] is True, f"{workload} on {backend}: {verdict['reason']}"
