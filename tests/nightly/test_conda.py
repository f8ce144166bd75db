"""The first answer with a real conda, in each environment of a CPU and in two that it makes for releases.

Where no channel can be reached, a condarc may name a local one. With SNAKEMAKE_CONDA_PREFIX, environments are
kept and shared by calls.
"""

import json
import shutil
from pathlib import Path

import pytest
from workspace import Checkout

from paragone.config.environments import base, pins
from paragone.machine.process_entry import PACKAGES
from paragone.records.record import read_contests

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("conda") is None, reason="tests conda: none is on PATH"),
]
BACKENDS = ["tensorflow-mirrored", "torch", "torch-compile", "torch-xla", "jax"]
OPTAX = {"jax.optax-0.2.5": "0.2.5", "jax.optax-0.2.6": "0.2.6"}
LINE = ["first_answer", "--cores", "2", "--software-deployment-method", "conda"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """The finished one, in the short windows of a test."""
    made = Checkout(tmp_path_factory.mktemp("conda"))
    made.config["data"]["source"] = "synthetic"
    made.config["contest"] |= {"rounds": 2, "window_seconds": 0.1, "load": 1}
    made.only("one_device", BACKENDS, contests=1)
    block = made.config["experiments"]["one_device"]
    versions = [{"optax": version} for version in OPTAX.values()]
    block["matrix"] += [block["matrix"][0] | {"backend": "jax", "versions": versions}]
    made.configure()
    made.snakemake(*LINE, timeout=3600)
    return made


def test_conda_made_the_environment_in_which_each_variant_was_timed(checkout):
    """Its workers saw the packages of the conda file, and the release that was asked for."""
    (path,) = checkout.folder.glob("results/contests/*/record.json")
    (contest,) = read_contests(path).contests
    states = {one.spec.backend.name: (one.status, one.reason) for one in contest.contestants}
    assert states == dict.fromkeys([*BACKENDS, *OPTAX], ("completed", None))
    assert {window.contestant for window in contest.windows} == {*range(len(states))}
    prefixes = {}
    for one in contest.contestants:
        name = one.spec.backend.name
        file = checkout / f"results/environments/{name}.json"
        prefixes[name] = prefix = Path(json.loads(file.read_text())["python"]).parents[1]
        environment = checkout.config["backends"][name.partition(".")[0]]["environment"]
        for package in base(environment):
            names = prefix.glob(f"conda-meta/{package.replace(' =', '-')}-*.json")
            assert len([*names]) == 1, (prefix, package)
        pinned = dict(pin.split("==") for pin in pins(environment))
        pinned |= {"optax": OPTAX[name]} if name in OPTAX else {}
        (process,) = one.processes
        assert process.software.pop("python")
        assert process.software == {key: pinned[key] for key in PACKAGES if key in pinned}
    assert prefixes["torch"] == prefixes["torch-compile"]
    assert len({*prefixes.values()}) == len(prefixes) - 1


def test_they_compute_the_same_and_are_in_the_answer_and_nothing_is_left_to_do(checkout):
    report = json.loads((checkout / "results/parity/fashion-cnn.json").read_text())
    passed = {name: verdict["passed"] for name, verdict in report["backends"].items()}
    assert passed == dict.fromkeys([*BACKENDS, *OPTAX], True)
    answer = (checkout / "results/first_answer.md").read_text()
    labels = [checkout.config["backends"][name]["label"] for name in BACKENDS]
    labels += [f"{labels[-1]} with optax {version}" for version in OPTAX.values()]
    assert [label for label in labels if label not in answer] == []
    assert checkout.jobs(*LINE) == {}
