"""The parity gate through its programs: every backend passes, every workload; more in test_nightly.py.

What others show is left out: pipeline/test_smoke.py fashion-cnn on seven backends, other workloads
on PyTorch, DDP or TensorFlow; test_engines.py the backends of several workers.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from parity.probing import judge, observe
from workspace import CONFIG, config_of

from paragone import data
from paragone.config.expand import probe
from paragone.data.batches import train_batches
from paragone.parity.compare import TOLERANCES
from paragone.training.observe import fitted

pytestmark = pytest.mark.full

TEXTS = ["reuters-cnn", "reuters-cnn-double-softmax"]
# By backend, with the slowest first. A workload that it does not have here: see above, or takes minutes.
PROBED = {
    "torch-xla": ["fashion-conv", *TEXTS],
    "jax": TEXTS,
    "tensorflow-mirrored": ["mobilenet-v2", "wide-resnet", *TEXTS],
    "torch-compile": TEXTS,
    "torch": ["fashion-conv", "mobilenet-v2", "wide-resnet"],
}
# Trainable parameters: as published for the text CNN (at the official vocabulary of 30,982 words);
# as Keras and torchvision document it for MobileNetV2; the others by hand.
COUNTS = {
    "fashion-cnn": 260 + 20 + 5_020 + 40 + 16_050 + 510,
    "fashion-conv": 640 + 108_170,
    "mobilenet-v2": 3_504_872,
    "reuters-cnn": 332_856,
    "reuters-cnn-double-softmax": 332_856,
    "wide-resnet": 192 + 9_680 + 33_184 + 131_904 + 650,
}
WORKLOADS = sorted(COUNTS)


@pytest.fixture(scope="module")
def probes(request, in_one_folder, tmp_path_factory):
    """A folder with <workload>/<backend>.npz of all that the module probes, in a process for each backend."""
    folder, probed = tmp_path_factory.mktemp("probes"), request.module.PROBED
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda name: observe(name, probed[name], in_one_folder, folder), probed)]
    return folder


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_backend_passes(references, probes, tmp_path, workload):
    reference = references(workload)
    verdicts = judge(
        workload, reference, sorted((probes / workload).glob("*.npz")), tmp_path / "parity.json"
    )
    assert verdicts
    absent = {"dropout"} - {*CONFIG["workloads"][workload]["model"]}
    for backend, verdict in verdicts.items():
        assert verdict["passed"] is True, f"{backend}: {verdict['reason']}"
        assert verdict["deviations"].keys() == TOLERANCES.keys() - absent
        # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-15


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_reference_trains(references, workload):
    """Every array has a gradient: what is never trained would pass on its initial weights."""
    with np.load(references(workload)) as reference:
        gradients = [reference[name] for name in reference.files if name.startswith("gradients/")]
        assert len(gradients) >= 4
        assert all(np.linalg.norm(gradient) > 0 for gradient in gradients)
        assert reference["logits"].dtype == np.float64
        assert int(reference["parameters"]) == COUNTS[workload]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def test_double_softmax_by_hand(references, data_of):
    """The flaw: the cross entropy of softmax(softmax(logits)), from the same initial weights."""
    arrays = data_of["reuters"]
    dataset = data.load(arrays.manifest, arrays.folder)
    spec, few = fitted(probe(config_of(), "reuters-cnn", "reference"), dataset)
    _, labels = next(train_batches(few, spec, 1))
    rows = np.arange(len(labels))
    plain, double = (np.load(references(workload)) for workload in TEXTS)
    chances = softmax(plain["logits"])
    assert plain["loss"] == pytest.approx(-np.log(chances[rows, labels]).mean(), rel=1e-12)
    np.testing.assert_allclose(double["logits"], chances, rtol=1e-10)
    expected = -np.log(softmax(chances)[rows, labels]).mean()
    assert double["loss"] == pytest.approx(expected, rel=1e-12)
