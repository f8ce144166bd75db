"""The workloads of examples/, trained whole in three frameworks: they learn, and all learn alike."""

import json
from itertools import combinations

import numpy as np
import pytest
from workspace import EXAMPLES, Checkout

from paragone.records import record

pytestmark = pytest.mark.alone
ABOVE_MAJORITY = 0.10


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_learns_in_every_framework(mirror, tmp_path, name):
    checkout = Checkout(tmp_path / "checkout")
    line = ("all", "--cores", "2", "--configfile", f"examples/{name}/config.yaml")
    checkout.snakemake(*line, timeout=7200, PARAGONE_MIRRORS=str(mirror))
    accuracies: dict[str, list[float]] = {}
    for path in sorted(checkout.folder.glob("results/runs/*/record.json")):
        run = record.read(path)
        assert run.status == "completed", run.reason
        last = run.epochs[-1].test_accuracy
        assert last >= run.data.test_majority + ABOVE_MAJORITY
        accuracies.setdefault(run.spec.backend.name, []).append(last)
    print(name, accuracies)
    assert sorted(accuracies) == ["jax", "tensorflow-mirrored", "torch"]
    assert {len(each) for each in accuracies.values()} == {3}
    of_seeds = max(np.ptp(each) for each in accuracies.values())
    for first, second in combinations(accuracies.values(), 2):
        assert abs(np.mean(first) - np.mean(second)) <= of_seeds
    for path in checkout.folder.glob("results/parity/*.json"):
        verdicts = json.loads(path.read_text())["backends"]
        assert {verdict["passed"] for verdict in verdicts.values()} == {True}
