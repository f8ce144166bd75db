"""The workflow runs from anywhere: with -s, with -d, as a module, from any path, without git."""

import json

import pytest
import snakemake_server
import yaml
from documents import blocks
from own_folder import BRIEF
from plan import Plan
from workspace import CONFIG, ROOT, Checkout, environment, job_stats

pytestmark = pytest.mark.full

ODD = "Größe 1 & 2, 東京"
ELSEWHERE = "else where"
# Of each kind of call: the folder it is made in, that of its results, and its options. The path of
# the checkout has spaces, letters of other alphabets, and what a shell would interpret.
CALLS = {
    "-s": (
        ELSEWHERE,
        ELSEWHERE,
        ["-s", f"../{ODD}/paragone/Snakefile", "--configfile", "mine.yaml"],
    ),
    "-d": (
        f"{ODD}/paragone",
        ELSEWHERE,
        ["-d", f"../../{ELSEWHERE}", "--configfile", f"../../{ELSEWHERE}/mine.yaml"],
    ),
    "module": (ODD, ODD, []),
}
# Two jobs that are quick and read what belongs to the checkout: programs, schemas, published numbers.
SOURCE = "results/data/fashion_mnist/source.json"
TABLE = "results/tables/accelerator_reference/accelerator_reference.csv"


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
    if kind == "module":
        examples = blocks(ROOT / "docs/extending.md", "python")
        (example,) = (each for each in examples if "module paragone" in each)
        (folder / "Snakefile").write_text(example)

    def call(*line: str) -> str:
        words = [*line, "--cores", "1", *CALLS[kind][2]]
        done = snakemake_server.call(words, folder, environment())
        assert done.returncode == 0, done.stdout
        return done.stdout

    dry = ("--dry-run", "--quiet", "rules")
    whole = "paragone_all" if kind == "module" else "all"
    jobs = job_stats(call(whole, *dry))
    planned = Plan(config=config).jobs()
    assert {rule.removeprefix("paragone_"): count for rule, count in jobs.items()} == planned
    call(SOURCE, TABLE)
    assert (results / TABLE).stat().st_size > 100
    assert json.loads((results / SOURCE).read_text())["origin"] == "arrays in the data folder"
