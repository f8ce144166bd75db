"""The workflow runs from anywhere: with -d, as a module, from any path, without git. -s: own_folder.py."""

import json
import os
from pathlib import Path

import pytest
import yaml
from documents import blocks
from plan import Plan
from workspace import BRIEF, CONFIG, ROOT, Checkout, jobs, snakemake

pytestmark = pytest.mark.full

ODD = "Größe 1 & 2, 東京"
ELSEWHERE = "else where"
# Of each kind of call: the folder it is made in, that of its results, and its options. The path of
# the checkout has spaces, letters of other alphabets, and what a shell would interpret.
CALLS = {
    "-d": (f"{ODD}/paragone", ELSEWHERE, ["-d", f"../../{ELSEWHERE}"]),
    "module": (ODD, ODD, []),
    "prefix": (ODD, ODD, []),
}
PREFIX = "deep & down"
# Two jobs that are quick and read what belongs to the checkout: programs, schemas, published numbers.
SOURCE = "results/data/fashion_mnist/source.json"
TABLE = "results/tables/accelerator_reference/accelerator_reference.csv"


@pytest.mark.injects("folders with spaces, `&` and letters of other alphabets")
@pytest.mark.parametrize("kind", CALLS)
def test_dry_run_and_two_real_jobs(fashion, tmp_path, kind):
    """The data folder, which only mine.yaml names, has the arrays already."""
    Checkout(tmp_path / ODD / "paragone")
    assert not list(tmp_path.rglob(".git"))
    folder, results = (tmp_path / name for name in CALLS[kind][:2])
    results.mkdir(exist_ok=True)
    config = CONFIG | {"data": CONFIG["data"] | {"folder": str(fashion.folder)}}
    config |= {"matmul": CONFIG["matmul"] | BRIEF["matmul"]}
    mine = {key: config[key] for key in ("data", "matmul")}
    (results / "mine.yaml").write_text(yaml.safe_dump(mine))
    is_module, prefix = kind != "-d", PREFIX if kind == "prefix" else ""
    if is_module:
        examples = blocks(ROOT / "docs/extending.md", "python")
        (example,) = (each for each in examples if "module paragone" in each)
        moved = f'    prefix:\n        "{PREFIX}"\n    config:' if prefix else "    config:"
        (folder / "Snakefile").write_text(example.replace("    config:", moved))

    options = ["--cores", "1", *CALLS[kind][2]]
    if not is_module:
        options += ["--configfile", os.path.relpath(results / "mine.yaml", folder)]
    found = jobs(["paragone_all" if is_module else "all", *options], folder)
    planned = Plan(config=config).jobs()
    assert {rule.removeprefix("paragone_"): count for rule, count in found.items()} == planned
    snakemake([Path(prefix, SOURCE), Path(prefix, TABLE), *options], folder)
    assert (results / prefix / TABLE).stat().st_size > 100
    made = json.loads((results / prefix / SOURCE).read_text())
    assert made["origin"] == "arrays in the data folder"
    assert (results / "results").exists() is not bool(prefix)
