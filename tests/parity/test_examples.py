"""The workloads of examples/ are in parity in every framework, small here, and a bug in one is refused."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import torchvision
from parity.probing import judge, observe
from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT, Arrays

from paragone.base import plugins

pytestmark = pytest.mark.full

BACKENDS = ["tensorflow-mirrored", "jax", "torch"]
SMALL = {
    "resnet50": {"width": 4, "blocks": [2, 1]},
    "text-transformer": {"length": 200, "width": 8, "hidden": 12, "blocks": 1},
}
# As somebody would get TensorFlow wrong: a default of the framework, or what looks the same and is not.
BUGS = {
    "resnet50": ("start, **BATCH_NORM)", "start)"),
    "text-transformer": ("normed, normed, attention_mask=mask", "normed, normed"),
}


def verdicts(
    backends: list[str],
    arrays: list[Arrays],
    folder: Path,
    reference: Path | None = None,
    examples: Path = ROOT / "examples",
) -> dict[str, dict]:
    """The gate's verdicts by workload and backend, with the examples as plugins.

    `reference`: a folder with the reference's probes; without it they are made, too.
    """
    workloads = {
        name: block | {"model": block["model"] | SMALL[name]} for name, block in OF_EXAMPLES.items()
    }
    config = CONFIG | {"workloads": CONFIG["workloads"] | workloads}
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setenv(plugins.VARIABLE, os.pathsep.join(str(examples / name) for name in EXAMPLES))
        probed = [*backends, *([] if reference else ["reference"])]
        [*pool.map(lambda name: observe(name, [*workloads], arrays, folder, config), probed)]
    made = {}
    for name in workloads:
        probes = [folder / name / f"{backend}.npz" for backend in backends]
        expected = (reference or folder) / name / "reference.npz"
        made[name] = judge(name, expected, probes, folder / name / "verdicts.json")
    return made


@pytest.fixture(scope="module")
def right(stand_ins_in_one_folder, tmp_path_factory) -> tuple[dict[str, dict], Path]:
    """Verdicts of the examples as they are, and the folder with the reference's probes."""
    folder = tmp_path_factory.mktemp("right")
    return verdicts(BACKENDS, stand_ins_in_one_folder, folder), folder


def test_every_framework_passes(right):
    for workload, of_backends in right[0].items():
        for backend, verdict in of_backends.items():
            assert verdict["passed"] is True, f"{workload} on {backend}: {verdict['reason']}"
            assert max(verdict["deviations"].values()) > 1e-15


def test_a_bug_in_one_framework_is_refused(right, stand_ins_in_one_folder, tmp_path):
    examples = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", examples)
    for name, own in EXAMPLES.items():
        (workload,) = own["workloads"]
        file = examples / name / "models/tensorflow.py"
        correct, wrong = BUGS[workload]
        text = file.read_text()
        assert text.count(correct) == 1, f"{file} has not once: {correct}"
        file.write_text(text.replace(correct, wrong))
    arrays = stand_ins_in_one_folder
    made = verdicts(["tensorflow-mirrored"], arrays, tmp_path / "probes", right[1], examples)
    for of_backends in made.values():
        (verdict,) = of_backends.values()
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
