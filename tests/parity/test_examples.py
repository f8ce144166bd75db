"""The workloads of examples/ are in parity in every framework, small here, and a bug in one is refused."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
import torch
import torchvision
from parity.probing import judge, observe
from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT

from paragone.base import plugins
from paragone.models.torch import MODELS

pytestmark = pytest.mark.full

BACKENDS = ["tensorflow-mirrored", "jax", "torch"]
SMALL = {
    "resnet50": {"width": 4, "blocks": [2, 1]},
    "text-transformer": {"length": 200, "width": 8, "hidden": 12, "blocks": 1},
}
# As somebody would get them wrong: a default of one framework, or what looks the same and is not.
BUGS = {
    "jax": {
        "resnet50": ("padding=side // 2", 'padding="SAME"'),
        "text-transformer": ("nnx.gelu, approximate=False", "nnx.gelu"),
    },
    "tensorflow-mirrored": {
        "resnet50": ("start, **BATCH_NORM)", "start)"),
        "text-transformer": ("normed, normed, attention_mask=mask", "normed, normed"),
    },
}
MODULES = {"jax": "jax.py", "tensorflow-mirrored": "tensorflow.py"}


def config(precision: str, options: dict[str, dict]) -> dict:
    workloads = {
        name: block | {"model": block["model"] | options.get(name, {})}
        for name, block in OF_EXAMPLES.items()
    }
    backends = {name: block | {"parity": precision} for name, block in CONFIG["backends"].items()}
    return CONFIG | {"workloads": CONFIG["workloads"] | workloads, "backends": backends}


class Gate:
    """The gate with the examples of this folder as plugins."""

    def __init__(self, examples: Path, folder: Path, arrays: list, options: dict = SMALL) -> None:
        self.examples, self.folder = examples, folder
        self.arrays, self.options = arrays, options

    def observe(self, backends: list[str], precision: str = "float64") -> None:
        folders = [str(self.examples / name) for name in EXAMPLES]
        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
            patch.setenv(plugins.VARIABLE, os.pathsep.join(folders))
            settings = config(precision, self.options)
            to = self.folder / precision
            line = (sorted(OF_EXAMPLES), self.arrays, to, settings)
            for each in [pool.submit(observe, name, *line) for name in backends]:
                each.result()

    def verdicts(
        self, workload: str, backends: list[str], reference: Path, precision: str = "float64"
    ) -> dict:
        folder = self.folder / precision / workload
        probes = [folder / f"{name}.npz" for name in backends]
        return judge(workload, reference / f"{workload}/reference.npz", probes, folder / "v.json")


@pytest.fixture(scope="module")
def right(stand_ins_in_one_folder, tmp_path_factory) -> Gate:
    gate = Gate(ROOT / "examples", tmp_path_factory.mktemp("right"), stand_ins_in_one_folder)
    gate.observe([*BACKENDS, "reference"])
    return gate


@pytest.fixture(scope="module")
def wrong(stand_ins_in_one_folder, tmp_path_factory) -> Callable[[str], Gate]:
    """The gate with a bug in each model of a framework; those of PyTorch would be the reference's, too."""

    @cache
    def broken(backend: str) -> Gate:
        folder = tmp_path_factory.mktemp(f"wrong-{backend}")
        shutil.copytree(ROOT / "examples", folder / "examples")
        for name, own in EXAMPLES.items():
            (workload,) = own["workloads"]
            file = folder / "examples" / name / "models" / MODULES[backend]
            old, new = BUGS[backend][workload]
            text = file.read_text()
            assert text.count(old) == 1, f"{file} has not once: {old}"
            file.write_text(text.replace(old, new))
        gate = Gate(folder / "examples", folder / "probes", stand_ins_in_one_folder)
        gate.observe([backend])
        return gate

    return broken


@pytest.mark.parametrize("workload", sorted(OF_EXAMPLES))
def test_every_framework_passes(right, workload):
    reference = right.folder / "float64"
    for backend, verdict in right.verdicts(workload, BACKENDS, reference).items():
        assert verdict["passed"] is True, f"{backend}: {verdict['reason']}"
        assert max(verdict["deviations"].values()) > 1e-15


@pytest.mark.parametrize("workload", sorted(OF_EXAMPLES))
def test_a_bug_in_one_framework_is_refused(right, wrong, workload):
    backend = "tensorflow-mirrored"
    reference = right.folder / "float64"
    (verdict,) = wrong(backend).verdicts(workload, [backend], reference).values()
    assert verdict["passed"] is False
    assert verdict["reason"].startswith("logits deviate by "), verdict["reason"]


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


def test_examples_ask_a_question_with_a_target():
    for folder, own in EXAMPLES.items():
        assert own["plugins"] == [f"examples/{folder}"]
        (workload,) = own["workloads"].values()
        assert 0 < workload["target"]["accuracy"] < 1
        assert workload["model"]["name"] not in MODELS
        json.dumps(own)
