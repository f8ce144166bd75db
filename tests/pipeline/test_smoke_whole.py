"""The whole smoke preset: what three of its experiments do not show."""

import numpy as np
import pandas as pd
import pytest
from plan import Plan
from workspace import CONFIG

pytestmark = pytest.mark.full

PLAN = Plan("smoke")
# Trainable parameters: as published for the text CNN (at the official vocabulary of 30,982 words); as Keras
# and torchvision document it for MobileNetV2; the others by hand.
COUNTS = {
    "fashion-cnn": 260 + 20 + 5_020 + 40 + 16_050 + 510,
    "fashion-conv": 640 + 108_170,
    "mobilenet-v2": 3_504_872,
    "reuters-cnn": 332_856,
    "reuters-cnn-double-softmax": 332_856,
    "wide-resnet": 192 + 9_680 + 33_184 + 131_904 + 650,
}


def test_the_preset_leaves_nothing_out():
    """Every workload of the default is trained, every experiment has a run, every backend too."""
    assert set(Plan().workloads) <= set(PLAN.workloads)
    assert set(Plan().backends) <= set(PLAN.backends)
    for kind in ("figures", "tables"):
        assert sorted(PLAN.names(kind)) == sorted(Plan().names(kind))
    assert {spec.workers for spec in PLAN.runs.values()} == {1, 2}
    assert [spec.backend.name for spec in PLAN.unavailable] == ["tensorflow-tpu"]


def test_runs_took_the_first_steps_of_the_reference(completed):
    """Weights of one replica and of two agree in float32; larger differences are tested in parity/."""
    compared = [made for made in completed if made.spec.workload.name == "fashion-cnn"]
    assert {("tensorflow-multiworker", 2), ("tensorflow-mirrored", 2), ("torch-xla", 2)} <= {
        (made.spec.backend.name, made.spec.replicas) for made in compared
    }
    for made in compared:
        assert made.first_steps.passed, made.first_steps.reason
        assert 0 < made.first_steps.deviations["updates"] < 0.05


def test_matrix_products_of_every_framework_are_among_the_published_peaks(results):
    products = pd.read_csv(results / "tables/device_matmul/matmul.csv")
    assert set(products["backend"]) == set(CONFIG["matmul"]["backends"])
    reference = pd.read_csv(results / "tables/accelerator_reference/accelerator_reference.csv")
    assert 3 <= (reference["measured here"] != "-").sum() < len(reference)
    assert set(reference["verdict"]) == {"not comparable"}


@pytest.mark.parametrize("workload", COUNTS)
def test_the_reference_trains(results, workload):
    """Every array has a gradient: what is never trained would pass on its initial weights."""
    with np.load(results / f"parity/{workload}/reference.npz") as reference:
        gradients = [reference[name] for name in reference.files if name.startswith("gradients/")]
        assert len(gradients) >= 4
        assert all(np.linalg.norm(gradient) > 0 for gradient in gradients)
        assert reference["logits"].dtype == np.float64
        assert int(reference["parameters"]) == COUNTS[workload]
