"""The whole smoke preset: what three of its experiments do not show."""

import pandas as pd
import pytest
from plan import Plan
from workspace import CONFIG

pytestmark = pytest.mark.full

PLAN = Plan("smoke")


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
