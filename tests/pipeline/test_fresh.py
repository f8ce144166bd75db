"""The whole workflow on synthetic data, with each rule in an environment of its own and no data to reach.

With the other frameworks: tests/nightly/test_frameworks_installed.py.
"""

import os

import pandas as pd
import pytest
import yaml
from own_folder import plug_in
from workspace import ROOT, UNREACHABLE, Checkout, call

from paragone.records import record

pytestmark = pytest.mark.full

EXPERIMENT = "tpu_fashion_conv"
# Backend -> its environment; the last is of a plugin. That of TensorFlow reads data, too.
BACKENDS = {"torch": "torch", "tensorflow-mirrored": "tensorflow", "my-torch": "torch"}
GPUS = ("tensorflow-gpu", "torch-cuda", "jax-cuda")
TPUS = ("tensorflow-tpu", "torch-xla-tpu", "jax-tpu")
CONDA = f"{ROOT / 'tests/pipeline/conda/bin'}{os.pathsep}{os.environ['PATH']}"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
NO_DATA = {"PARAGONE_MIRRORS": "", "NO_PROXY": "", "no_proxy": ""}
NO_DATA |= dict.fromkeys(PROXIES, UNREACHABLE)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """The finished one, with environments that were installed first; two steps an epoch.

    What Snakemake printed while it trained is in its file `printed`.
    """
    made = Checkout(tmp_path_factory.mktemp("fresh"))
    plug_in(made, "my-torch")
    made.only(EXPERIMENT, [*BACKENDS], {"steps_per_epoch": 2, "epochs": 2}, epochs=2)
    line = ["all", "--cores", "2", "--software-deployment-method", "conda"]
    made.snakemake(*line, "--conda-create-envs-only", PATH=CONDA)
    (made / "printed").write_text(made.snakemake(*line, PATH=CONDA, **NO_DATA))
    return made


def test_each_backend_trained_in_its_own_environment(checkout):
    """It saw the frameworks of its conda file, in their versions, and no other.

    Snakemake keeps a copy of the file beside each environment.
    """
    made = [path.read_text() for path in (checkout / ".snakemake/conda").glob("*.yaml")]
    used = ["workflow", *{*BACKENDS.values()}]
    assert sorted(made) == sorted((ROOT / f"envs/{name}.yaml").read_text() for name in used)
    records = [record.read(path) for path in checkout.folder.glob("results/runs/*/record.json")]
    assert {made.spec.backend.name for made in records} == set(BACKENDS)
    for made in records:
        assert (made.status, made.data.source) == ("completed", "synthetic")
        pins = pinned(BACKENDS[made.spec.backend.name])
        (process,) = made.processes
        assert process.software.pop("python")
        assert process.software.items() <= pins.items()
        frameworks = {"tensorflow-cpu", "torch", "torch-xla", "jax"}
        assert frameworks & process.software.keys() == frameworks & pins.keys()


def test_whatever_is_made_of_synthetic_data_says_so(checkout):
    """Matplotlib writes each text of a figure as a comment before its outlines."""
    assert "NOTICE: SYNTHETIC DATA in place of fashion_mnist" in (checkout / "printed").read_text()
    results = checkout / "results"
    runs = pd.read_csv(results / "tables/runs.csv")
    assert (set(runs["parity"]), set(runs["data_source"])) == ({"passed"}, {"synthetic"})
    figures = [*results.glob(f"figures/{EXPERIMENT}/*.svg")]
    assert len(figures) == len(checkout.config["experiments"][EXPERIMENT]["figures"])
    tables = [*results.glob(f"tables/{EXPERIMENT}/comparison.[mc]*")]
    assert len(tables) == 2
    for path in (*figures, *tables, results / "index.html", results / "so_far.html"):
        assert "SYNTHETIC DATA" in path.read_text(), path


@pytest.mark.parametrize("name", [*GPUS, *TPUS])
def test_environment_of_an_accelerator_resolves(name, tmp_path):
    """For every pin the package index has a file for Linux on x86-64 whose hash is pinned."""
    line = ["uv", "pip", "install", "--dry-run", "--require-hashes", "--target", str(tmp_path)]
    line += ["--python-platform", "x86_64-manylinux_2_31", "--python-version", "3.11"]
    done = call([*line, "--requirements", str(ROOT / f"envs/{name}.linux-64.txt")])
    assert done.returncode == 0, done.stderr
    planned = [line.removeprefix(" + ") for line in done.stderr.splitlines() if line[:3] == " + "]
    assert dict(line.split("==") for line in planned) == pinned(name)


def pinned(name: str) -> dict[str, str]:
    """Package -> version that a conda file pins."""
    *_, pip = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["dependencies"]
    return dict(line.split("==") for line in pip["pip"])
