"""The parity gate through its programs: backends pass on workloads of the config; more in test_nightly.py.

What others show is left out: the smoke run fashion-cnn on seven backends, and deep workloads on PyTorch;
test_engines.py the backends of several workers.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from parity.conftest import TEXTS
from parity.probing import judge, observe
from workspace import CONFIG

from paragone.parity.compare import TOLERANCES

pytestmark = pytest.mark.full

# By backend, with the slowest first.
PROBED = {
    "torch-xla": ["fashion-conv", "reuters-cnn-double-softmax"],
    "torch-compile": ["reuters-cnn-double-softmax"],
    "jax": TEXTS,
    "tensorflow-mirrored": TEXTS,
    "torch": ["fashion-conv"],
}


@pytest.fixture(scope="module")
def probes(request, in_one_folder, tmp_path_factory):
    """A folder with <workload>/<backend>.npz of all that the module probes, in a process for each backend."""
    folder, probed = tmp_path_factory.mktemp("probes"), request.module.PROBED
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda name: observe(name, probed[name], in_one_folder, folder), probed)]
    return folder


def test_every_backend_passes(references, probes, cell):
    verdicts = judge(cell, references(cell), sorted((probes / cell).glob("*.npz")))
    assert verdicts
    absent = {"dropout"} - {*CONFIG["workloads"][cell]["model"]}
    for backend, verdict in verdicts.items():
        assert verdict["passed"] is True, f"{backend}: {verdict['reason']}"
        assert verdict["deviations"].keys() == TOLERANCES.keys() - absent
        # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-15


CELLS = {test_every_backend_passes: ["fashion-conv", *TEXTS]}
