"""The gate refuses wrong engines of PyTorch, each for its reason; more in test_wrong_engines.py."""

from collections.abc import Callable
from functools import cache

import pytest
from parity.wrong_engines import (
    loaded,
    refused_for_its_reason,
    spec_of,
    verdict,
    wrong_engines,
)

from paragone.data import Dataset
from paragone.parity.compare import Observation
from paragone.parity.observe import observe

QUICK = [wrong for wrong in wrong_engines("torch") if wrong.workload != "wide-resnet"]


@pytest.fixture(scope="module")
def datasets(in_one_folder) -> dict[str, Dataset]:
    """Data sets by name."""
    return loaded((one.manifest for one in in_one_folder), in_one_folder[0].folder)


@pytest.fixture(scope="module")
def reference_of(datasets) -> Callable[[str], Observation]:
    """What the reference computes, by workload."""

    @cache
    def once(workload: str) -> Observation:
        spec = spec_of("reference", workload, "float64")
        return Observation.of(observe(spec, datasets[spec.workload["dataset"]]))

    return once


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=wrong.name) for wrong in QUICK])
def test_a_wrong_engine_is_refused_for_its_reason(datasets, reference_of, wrong):
    found = verdict(wrong, "torch", "float64", datasets, reference_of(wrong.workload))
    assert refused_for_its_reason(wrong, found), found["reason"]
