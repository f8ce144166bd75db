"""The whole workflow on synthetic data, with each rule in an environment of its own and no data to reach."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml
from plugged import plug_in
from workspace import ROOT, UNREACHABLE, Checkout, call

from paragone.records import record

pytestmark = pytest.mark.full

# Backend -> its environment.
BACKENDS = {
    "tensorflow-mirrored": "tensorflow",
    "torch": "torch",
    "torch-xla": "torch-xla",
    "jax": "jax",
    "my-torch": "torch",  # of a plugin
}
ACCELERATORS = [
    "tensorflow-gpu",
    "tensorflow-tpu",
    "torch-cuda",
    "torch-xla-tpu",
    "jax-cuda",
    "jax-tpu",
]
CONDA = ROOT / "tests/pipeline/conda/bin"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
NO_DATA = {"PARAGONE_MIRRORS": "", "NO_PROXY": "", "no_proxy": ""}
NO_DATA |= dict.fromkeys(PROXIES, UNREACHABLE)


@dataclass(frozen=True)
class Fresh:
    """The finished checkout, and what snakemake printed while it trained."""

    checkout: Checkout
    output: str

    @property
    def results(self) -> Path:
        """Where the results are."""
        return self.checkout / "results"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Fresh:
    """Install the environments, then run all without mirror and network, two steps an epoch."""
    checkout = Checkout(tmp_path_factory.mktemp("fresh"))
    plug_in(checkout, "my-torch")
    checkout.only("tpu_fashion_conv", [*BACKENDS], {"steps_per_epoch": 2, "epochs": 2}, epochs=2)
    line = ["all", "so_far", "--cores", "2", "--software-deployment-method", "conda"]
    path = f"{CONDA}{os.pathsep}{os.environ['PATH']}"
    installed = checkout.snakemake(*line, "--conda-create-envs-only", PATH=path)
    assert installed.returncode == 0, installed.stdout
    done = checkout.snakemake(*line, PATH=path, **NO_DATA)
    assert done.returncode == 0, done.stdout
    return Fresh(checkout, done.stdout)


def test_each_environment_was_made_from_its_conda_file(fresh):
    """Snakemake keeps a copy of the file beside each environment."""
    made = [path.read_text() for path in (fresh.checkout / ".snakemake/conda").glob("*.yaml")]
    used = ["workflow", *{*BACKENDS.values()}]
    assert sorted(made) == sorted((ROOT / f"envs/{name}.yaml").read_text() for name in used)


def test_each_backend_trained_in_its_own_environment(fresh):
    """It saw the frameworks of its conda file, in their versions, and no other."""
    records = [record.read(path) for path in fresh.results.glob("runs/*/record.json")]
    assert {made.spec.backend["name"] for made in records} == set(BACKENDS)
    for made in records:
        assert (made.status, made.data.source) == ("completed", "synthetic")
        environment = BACKENDS[made.spec.backend["name"]]
        (process,) = made.processes
        assert process.software.pop("python")
        assert process.software.items() <= pinned(environment).items()
        frameworks = {"tensorflow-cpu", "torch", "torch-xla", "jax"}
        assert frameworks & set(process.software) == frameworks & set(pinned(environment))


def test_whatever_is_made_of_synthetic_data_says_so(fresh):
    """Matplotlib writes each text of a figure as a comment before its outlines."""
    assert "NOTICE: SYNTHETIC DATA in place of fashion_mnist" in fresh.output
    runs = pd.read_csv(fresh.results / "tables/runs.csv")
    assert (runs["parity"] == "passed").all()
    assert set(runs["data_source"]) == {"synthetic"}
    figures = [*fresh.results.glob("figures/tpu_fashion_conv/*.svg")]
    assert len(figures) == len(fresh.checkout.config["experiments"]["tpu_fashion_conv"]["figures"])
    tables = [*fresh.results.glob("tables/tpu_fashion_conv/comparison.[mtc]*")]
    assert len(tables) == 3
    pages = [fresh.results / "index.html", fresh.results / "so_far.html"]
    for path in (*figures, *tables, *pages):
        assert "SYNTHETIC DATA" in path.read_text(), path


def test_source_synthetic_asks_nobody(fresh, mirror):
    """Real data at hand are left alone; the arrays of the run above are used again."""
    checkout = fresh.checkout
    target = "results/data/fashion_mnist/manifest.json"
    line = [target, "--cores", "1", "--config", "data={'source': 'synthetic'}"]
    done = checkout.snakemake(*line, PARAGONE_MIRRORS=str(mirror))
    assert done.returncode == 0, done.stdout
    assert "NOTICE" not in done.stdout
    assert json.loads((checkout / target).read_text())["source"] == "synthetic"
    assert len(list((checkout / "data").glob("arrays/*"))) == 1


@pytest.mark.parametrize("name", ACCELERATORS)
def test_environment_of_an_accelerator_resolves(name, tmp_path):
    """For every pin the package index has a file for Linux on x86-64 whose hash is pinned."""
    done = call(
        [
            *("uv", "pip", "install", "--dry-run", "--require-hashes", "--target", str(tmp_path)),
            *("--python-platform", "x86_64-manylinux_2_31", "--python-version", "3.11"),
            *("--requirements", str(ROOT / f"envs/{name}.linux-64.txt")),
        ]
    )
    assert done.returncode == 0, done.stderr
    planned = [line.removeprefix(" + ") for line in done.stderr.splitlines() if line[:3] == " + "]
    assert dict(line.split("==") for line in planned) == pinned(name)


def pinned(name: str) -> dict[str, str]:
    """Package -> version that a conda file pins."""
    *_, pip = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["dependencies"]
    return dict(line.split("==") for line in pip["pip"])
