"""The parity gate through its programs: every backend passes, every workload.

In `make test` the smoke run shows it of seven backends on fashion-cnn, of the other workloads on one or two;
what it shows of fashion-cnn is not repeated here.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from parity.probing import ABSENT, BACKENDS, WORKLOADS, backends_of, dataset_of, judge
from workspace import CONFIG

from paragone import data
from paragone.config.expand import probe
from paragone.data.batches import train_batches
from paragone.parity.compare import TOLERANCES

pytestmark = pytest.mark.full

# Trainable parameters: as published for the text CNN (at the official vocabulary of 30,982 words);
# as Keras and torchvision document it for MobileNetV2; the others by hand.
PARAMETERS = {
    "fashion-cnn": 260 + 20 + 5_020 + 40 + 16_050 + 510,
    "fashion-conv": 640 + 108_170,
    "mobilenet-v2": 3_504_872,
    "reuters-cnn": 332_856,
    "reuters-cnn-double-softmax": 332_856,
    "wide-resnet": 192 + 9_680 + 33_184 + 131_904 + 650,
}


@pytest.fixture(scope="module")
def verdicts_of(probes_of, tmp_path_factory) -> Callable[[str], dict]:
    """The gate's verdicts by backend, of a workload."""
    folder = tmp_path_factory.mktemp("verdicts")

    @cache
    def verdicts(workload: str) -> dict:
        found = [probes_of(workload) / f"{name}.npz" for name in backends_of(workload)]
        reference = probes_of(workload) / "reference.npz"
        return judge(workload, reference, found, folder / f"{workload}.json")

    return verdicts


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_backend_passes(verdicts_of, workload):
    verdicts = verdicts_of(workload)
    assert list(verdicts) == backends_of(workload)
    for backend, verdict in verdicts.items():
        if backend in ABSENT:
            assert verdict["passed"] is None
            assert "tpu" in verdict["reason"].lower()
        else:
            check_passed(workload, verdict)


def check_passed(workload: str, verdict: dict) -> None:
    assert verdict["passed"] is True, verdict["reason"]
    dropout = set() if "dropout" in CONFIG["workloads"][workload]["model"] else {"dropout"}
    assert verdict["deviations"].keys() == TOLERANCES.keys() - dropout
    # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
    assert max(verdict["deviations"].values()) > 1e-15


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_reference_trains(probes_of, workload):
    """Every array has a gradient: what is never trained would pass on its initial weights."""
    outputs = CONFIG["workloads"][workload]["model"].get("outputs")
    classes = {"fashion_mnist": 10, "cats_vs_dogs": 2, "reuters": 46}[dataset_of(workload)]
    with np.load(probes_of(workload) / "reference.npz") as reference:
        gradients = {name for name in reference.files if name.startswith("gradients/")}
        weights = {name for name in reference.files if name.startswith("weights/")}
        assert len(weights) >= len(gradients) >= 4
        assert reference["logits"].shape == (16, outputs or classes)
        assert reference["logits"].dtype == np.float64
        assert all(np.isfinite(reference[name]).all() for name in weights)
        norms = [np.linalg.norm(reference[name]) for name in gradients]
        assert all(norm > 0 for norm in norms)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_trainable_parameters(probes_of, workload):
    for backend in ["reference", *backends_of(workload)]:
        with np.load(probes_of(workload) / f"{backend}.npz") as arrays:
            if backend not in ABSENT:
                assert int(arrays["parameters"]) == PARAMETERS[workload]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in ABSENT])
def test_double_softmax_by_hand(probes_of, data_of, backend):
    """The flaw: the cross entropy of softmax(softmax(logits)), from the same initial weights."""
    arrays = data_of["reuters"]
    spec = probe(CONFIG, "reuters-cnn", backend)
    dataset = data.load(arrays.manifest, arrays.folder)
    _, labels = next(train_batches(dataset, spec, 1))
    rows = np.arange(len(labels))
    with np.load(probes_of("reuters-cnn") / f"{backend}.npz") as plain:
        chances = softmax(plain["logits"])
        assert plain["loss"] == pytest.approx(-np.log(chances[rows, labels]).mean(), rel=1e-12)
    with np.load(probes_of("reuters-cnn-double-softmax") / f"{backend}.npz") as double:
        np.testing.assert_allclose(double["logits"], chances, rtol=1e-10)
        expected = -np.log(softmax(chances)[rows, labels]).mean()
        assert double["loss"] == pytest.approx(expected, rel=1e-12)
