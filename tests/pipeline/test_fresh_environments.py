"""Every environment from its pins alone: the CPU ones are installed and used, the others resolve."""

import pandas as pd
import pytest
import yaml
from fresh import BACKENDS
from workspace import ROOT, call

from paragone.records import record

pytestmark = pytest.mark.full

ACCELERATORS = [
    "tensorflow-gpu",
    "tensorflow-tpu",
    "torch-cuda",
    "torch-xla-tpu",
    "jax-cuda",
    "jax-tpu",
]


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
        assert made.status == "completed"
        environment = BACKENDS[made.spec.backend["name"]]
        (process,) = made.processes
        assert process.software.pop("python")
        assert process.software.items() <= pinned(environment).items()
        frameworks = {"tensorflow-cpu", "torch", "torch-xla", "jax"}
        assert frameworks & set(process.software) == frameworks & set(pinned(environment))


def test_figures_and_tables_were_made(fresh):
    runs = pd.read_csv(fresh.results / "tables/runs.csv")
    assert (runs["parity"] == "passed").all()
    for suffix in ("svg", "pdf", "png"):
        assert (fresh.results / f"figures/tpu_fashion_conv/throughput.{suffix}").is_file()


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
