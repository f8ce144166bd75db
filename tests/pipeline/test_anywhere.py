"""The workflow runs from anywhere: -s, -d, as a module, from any path, without git."""

import copy
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import snakemake_server
import yaml
from plan import Plan
from workspace import Checkout, environment, job_stats

from paragone.config.expand import expand

pytestmark = pytest.mark.full

SEED = 7
# Two jobs that are quick and read what belongs to the checkout: programs, schemas, published numbers.
TARGETS = [
    "results/data/fashion_mnist/source.json",
    "results/tables/accelerator_reference/accelerator_reference.csv",
]
MODULE = """
configfile: "changes.yaml"

module paragone:
    snakefile: {snakefile!r}
    config: config

use rule * from paragone

rule own:
    default_target: True
    input: rules.all.input
"""


@dataclass(frozen=True)
class Call:
    """Where snakemake is called, with which options, and the folder that its results are in."""

    folder: Path
    options: tuple[str, ...]
    results: Path


def from_another_folder(checkout: Checkout, elsewhere: Path, changes: Path) -> Call:
    options = ("-s", str(checkout / "Snakefile"), "--configfile", str(changes))
    return Call(elsewhere, options, elsewhere)


def into_another_folder(checkout: Checkout, elsewhere: Path, changes: Path) -> Call:
    options = ("-d", str(elsewhere), "--configfile", str(changes))
    return Call(checkout.folder, options, elsewhere)


def as_a_module(checkout: Checkout, elsewhere: Path, changes: Path) -> Call:
    snakefile = MODULE.format(snakefile=str(checkout / "Snakefile"))
    (elsewhere / "Snakefile").write_text(snakefile)
    (elsewhere / "changes.yaml").write_text(changes.read_text())
    return Call(elsewhere, (), elsewhere)


def from_its_own_folder(checkout: Checkout, elsewhere: Path, changes: Path) -> Call:
    return Call(checkout.folder, ("--configfile", str(changes)), checkout.folder)


WAYS = {
    "-s": ("checkout", from_another_folder),
    "-d": ("checkout", into_another_folder),
    "module": ("checkout", as_a_module),
    "odd path": ("Größe 1 & 2, 東京", from_its_own_folder),
    "odd path, -s": ("Größe 1 & 2, 東京", from_another_folder),
}


@pytest.fixture(params=WAYS)
def way(request, fashion, tmp_path) -> Call:
    """One way of calling a checkout without .git whose config a user has changed."""
    name, prepare = WAYS[request.param]
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    changes = tmp_path / "changes.yaml"
    changes.write_text(yaml.safe_dump({"seed": SEED, "data": {"folder": str(fashion.folder)}}))
    checkout = Checkout(tmp_path / name)
    assert not list(tmp_path.rglob(".git"))
    return prepare(checkout, elsewhere, changes)


def run(call: Call, *targets: str, dry: bool) -> str:
    """What snakemake prints."""
    line = [*targets, "--cores", "1", *call.options]
    line += ["--dry-run", "--quiet", "rules"] if dry else []
    done = snakemake_server.call(line, call.folder, environment())
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_dry_run_and_two_real_jobs(way):
    plan = Plan()
    jobs = job_stats(run(way, dry=True))
    jobs.pop("own", None)
    assert jobs | {"all": 1} == plan.jobs()

    changed = copy.deepcopy(plan.config) | {"seed": SEED}
    (spec, *_) = expand(changed, "tpu_fashion_conv")
    jobs = job_stats(run(way, f"results/runs/{spec.name}/record.json", dry=True))
    assert jobs == {"fetch": 1, "serialize": 1, "first_steps": 1, "train": 1}

    run(way, *TARGETS, dry=False)
    for target in TARGETS:
        assert (way.results / target).stat().st_size > 100
    source = json.loads((way.results / TARGETS[0]).read_text())
    assert source["dataset"] == "fashion_mnist"
    assert job_stats(run(way, *TARGETS, dry=True)) == {}
