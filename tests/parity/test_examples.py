"""The workloads of examples/ are in parity in every framework, small here."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torchvision
from parity.conftest import linked
from parity.probing import judge, observe
from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT

from paragone.base import plugins

pytestmark = pytest.mark.full

BACKENDS = ["tensorflow-mirrored", "jax", "torch"]
SMALL = {
    "resnet50": {"width": 4, "blocks": [2, 1]},
    "text-transformer": {"length": 200, "width": 8, "hidden": 12, "blocks": 1},
}


def test_every_framework_passes(stand_ins, tmp_path, monkeypatch):
    folders = (str(ROOT / "examples" / name) for name in EXAMPLES)
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(folders))
    workloads = {
        name: block | {"model": block["model"] | SMALL[name]} for name, block in OF_EXAMPLES.items()
    }
    config = CONFIG | {"workloads": CONFIG["workloads"] | workloads}
    given = ([*workloads], linked(stand_ins, tmp_path), tmp_path, config)
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda name: observe(name, *given), [*BACKENDS, "reference"])]
    for name in workloads:
        reference, *probes = (
            tmp_path / name / f"{backend}.npz" for backend in ("reference", *BACKENDS)
        )
        verdicts = judge(name, reference, probes, tmp_path / name / "verdicts.json")
        for backend, verdict in verdicts.items():
            assert verdict["passed"] is True, f"{name} on {backend}: {verdict['reason']}"
            assert max(verdict["deviations"].values()) > 1e-15


def test_the_widest_resnet_is_torchvisions(monkeypatch):
    """The same numbers from the same weights, and as many of them as is documented."""
    monkeypatch.setenv(plugins.VARIABLE, str(ROOT / "examples/resnet50"))
    made = plugins.extend("models/torch.py", {})["resnet50"]
    mine = made((64, 64, 3), 1000, width=64, blocks=[3, 4, 6, 3])
    theirs = torchvision.models.resnet50(weights=None)
    assert sum(weight.numel() for weight in mine.parameters()) == 25_557_032
    values = theirs.state_dict().values()
    mine.load_state_dict(dict(zip(mine.state_dict(), values, strict=True)))
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(mine(images), theirs(images), rtol=0, atol=0)
