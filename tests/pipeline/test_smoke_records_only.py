"""A folder of records alone draws every figure and table: no framework, no data, nothing measured again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plan import Plan
from workspace import ROOT, Checkout, call

PLAN = Plan("smoke")
# What a machine has measured; all else is made from it.
# What runs read first: what is newer than a record would have it measured again.
RECORDS = ["data/*/manifest.json", "parity/*/*.npz", "runs/*/record.json", "runs/*/predictions.npz"]
RECORDS += ["matmul/*.json"]
MEASURE = {"fetch", "serialize", "pretrained", "train", "measure_products"}
LINE = ("all", "--cores", "2", "--configfile", "presets/smoke.yaml")
ALONE = ("--config", "records_only=True")


@pytest.fixture(scope="module")
def bundle(smoke, results, tmp_path_factory) -> Checkout:
    """Another checkout with the records of the smoke run and nothing else of it."""
    made = Checkout(tmp_path_factory.mktemp("bundle"))
    for pattern in RECORDS:
        found = list(results.glob(pattern))
        assert found, pattern
        for path in found:
            target = made / "results" / str(path.relative_to(results))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return made


def expected() -> dict[str, int]:
    """The jobs that only read what was measured."""
    jobs = PLAN.jobs().items()
    measuring = ("probe_", "first_steps")
    return {n: count for n, count in jobs if n not in MEASURE and not n.startswith(measuring)}


@pytest.mark.parametrize("options", [ALONE, ()], ids=["records_only", "as always"])
def test_nothing_is_measured_fetched_or_serialized_again(bundle, options):
    assert bundle.jobs(*LINE, *options) == expected()


def test_figures_alone_ask_for_nothing_more(bundle):
    jobs = bundle.jobs("figures", *LINE[1:])
    assert jobs.keys() - {"figures"} <= expected().keys()


@pytest.fixture(scope="module")
def without_frameworks(tmp_path_factory) -> Path:
    """The programs of envs/workflow.in, pinned, in an environment of their own."""
    folder = tmp_path_factory.mktemp("workflow") / "venv"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    pins = ROOT / "envs/workflow.linux-64.txt"
    install = [uv, "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*install, "--python", folder / "bin/python", "-r", pins], check=True)
    return folder / "bin"


@pytest.mark.full
def test_every_figure_and_table_without_any_framework(bundle, results, without_frameworks):
    """To the byte what the measuring machine drew."""
    python = str(without_frameworks / "python")
    for framework in ("torch", "tensorflow", "torch_xla"):
        assert call([python, "-c", f"import {framework}"]).returncode == 1
    path = f"{without_frameworks}{os.pathsep}{os.environ['PATH']}"
    done = bundle.snakemake(*LINE, *ALONE, PATH=path, PARAGONE_MIRRORS="")
    assert done.returncode == 0, done.stdout
    assert not (bundle / "data").exists()
    for kind in ("figures", "tables"):
        made = {path.relative_to(results): path for path in results.glob(f"{kind}/*/*.*")}
        assert len(made) > 3 * len(PLAN.names(kind))
        for name, path in made.items():
            if path.suffix != ".parquet":
                assert (bundle / "results" / str(name)).read_bytes() == path.read_bytes(), name
    assert bundle.jobs(*LINE, *ALONE) == {}
