"""Bundles drawn, those of records/ as well: experiments come from their configs, machines stay apart."""

import json
import shutil

import pandas as pd
import pytest
from make_contests import QUESTION, make_contests, write_contests
from make_page import EXPERIMENT
from make_products import make_case, make_result
from make_records import typed
from make_results import valid_records, write_results
from plan import Plan
from workspace import CONFIG, ROOT, job, job_stats, snakemake

import bundle
import unbundle
from bundle_archive import Listing
from drawn_config import drawn, files_of_records, opened
from paragone.analysis import tidy

SNAKEFILE = str(ROOT / "workflows/bundles/Snakefile")
BLOCK = CONFIG["experiments"]["one_device"] | {
    "title": "Theirs",
    "figures": ["variants", "my_figure"],  # of a plugin that is not here
    "tables": ["differences"],
}
SPEEDS = {"torch": 20_000.0, "torch-xla": 10_000.0}
THEIRS = {**CONFIG, "experiments": {EXPERIMENT: BLOCK}, "plugins": ["my_folder"]}
THEIRS["datasets"] = CONFIG["datasets"] | {"digits": {"form": "my_form"}}
THEIRS["primary"] = CONFIG["primary"] | {"experiment": EXPERIMENT}


def listing_of(contests: dict[str, list[str]] | None = None, **experiments: list[str]) -> Listing:
    runs = [f"runs/{run}" for each in experiments.values() for run in each]
    held = [f"contests/{name}" for each in (contests or {}).values() for name in each]
    files = {f"{folder}/record.json": None for folder in [*runs, *held]}
    return Listing(1, "", "free", [], experiments, {"config.json": None, **files}, contests or {})


def test_what_is_drawn_is_what_the_bundles_asked_for():
    other = {**THEIRS, "experiments": {EXPERIMENT: {**BLOCK, "title": "Other"}, "more": BLOCK}}
    other["primary"], other["baseline"] = {"experiment": "more", "metric": "speed"}, "jax"
    bundles = {
        "here": (listing_of({"more": ["q"]}, **{EXPERIMENT: ["a"], "more": ["b"]}), other),
        "there": (listing_of(**{EXPERIMENT: ["a"]}), THEIRS),
    }
    whole = drawn({"seed": 1}, bundles)
    assert (whole["seed"], whole["baseline"]) == (1, "jax")
    assert [*whole["experiments"]] == ["more", EXPERIMENT]  # the primary question is the first
    assert whole["experiments"][EXPERIMENT]["title"] == "Other"
    assert whole["experiments"]["more"]["tables"] == ["differences"]
    assert whole["records_only"] == {
        EXPERIMENT: {"runs": ["a@here", "a@there"], "contests": []},
        "more": {"runs": ["b@here"], "contests": ["q@here"]},
    }
    folders = ["runs/a@here", "runs/b@here", "contests/q@here", "runs/a@there"]
    assert files_of_records(bundles) == [f"{folder}/record.json" for folder in folders]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The bundle of two runs of each of two variants, and of their contests, packed by the program."""
    folder = tmp_path_factory.mktemp("bundle")
    made = valid_records(range(2), [*SPEEDS])
    results = write_results(folder / "results", made)
    write_contests(results, make_contests("2026-01-01T00:00:00+00:00", *[SPEEDS] * 3))
    runs, _ = tidy.tables(typed(made), EXPERIMENT, {})
    tidy.write(runs, results / "tables/runs.parquet")
    products = results / "matmul/torch.json"
    products.parent.mkdir()
    products.write_text(json.dumps(make_result("torch", [make_case((64,) * 3, gflops=(2, 3))])))
    names = {"records": "runs", "contests": "contests", "parity": "parity", "products": "matmul"}
    files = {kind: [*(results / name).rglob("*.json")] for kind, name in names.items()}
    files |= {"manifests": [*results.glob("data/*/manifest.json")]}
    asked = {"questions": {EXPERIMENT: [QUESTION]}, "config": THEIRS}
    path = results / "here.zip"
    bundle.main(job(runs=results / "tables/runs.parquet", bundle=path, **files, **asked))
    return path


def draw(folder, *line: str) -> str:
    line = ["-s", SNAKEFILE, "--cores", "2", *line]
    return snakemake(line, folder, PARAGONE_PLUGINS="")


def test_two_bundles_are_drawn_side_by_side(archive, tmp_path):
    """Without a plugin of elsewhere its figures are left out, and the others are drawn."""
    for name in ("then", "now"):
        shutil.copyfile(archive, tmp_path / f"{name}.zip")
    wanted = [f"figures/{EXPERIMENT}/variants.svg", f"tables/{EXPERIMENT}/differences.md"]
    bundles = ("--config", "bundles=[then.zip, now.zip]")
    draw(tmp_path, *(f"results/{name}" for name in wanted), *bundles)
    points = pd.read_csv(tmp_path / f"results/figures/{EXPERIMENT}/variants.csv")
    names = ("then", "now")
    assert {work.split(", ")[-1] for work in set(points["work"])} == {*names}
    # Two bundles of one machine: each is a machine of its own, and nothing is paired across them.
    pairs = pd.read_csv(tmp_path / f"results/tables/{EXPERIMENT}/differences.csv")
    speeds = pairs[pairs["metric"] == "speed"]
    assert sorted(speeds["machine"]) == sorted(names)
    assert (speeds["n"] == 3).all()
    printed = draw(tmp_path, "all", "--dry-run", "--quiet", "rules", *bundles)
    assert f"notice: left out of {EXPERIMENT}, no such figures here: my_figure" in printed
    jobs = job_stats(printed)
    assert not {"unbundle", "train", "fetch", "collect_runs", "check_parity"} & {*jobs}
    assert {"page", "answers"} <= {*jobs}


def test_what_is_packed_is_what_the_config_asks_for(tmp_path):
    plan = Plan("smoke")
    line = ["--configfile", str(ROOT / "presets/smoke.yaml"), "--dry-run", "--printshellcmds"]
    text = draw(tmp_path, *line)
    (command,) = (each for each in text.split("\n\n") if "bundle.py" in each)
    for run in plan.runs:
        assert f"results/runs/{run}/record.json" in command
    for workload in plan.workloads:
        assert f"results/parity/{workload}.json" in command


CONTRIBUTED = sorted((ROOT / "records").glob("*.zip"))


@pytest.mark.parametrize("path", CONTRIBUTED, ids=lambda path: path.stem)
def test_it_is_tabulated_and_its_config_is_drawn(path, tmp_path):
    products = tmp_path / "tables/device_matmul/matmul"
    files = {"csv": f"{products}.csv", "products": f"{products}.parquet"}
    unbundle.main(job(bundles=[path], **files))
    tables = [pd.read_parquet(table) for table in tmp_path.glob("tables/*/runs.parquet")]
    runs = pd.concat(tables)
    assert set(runs["run"]) == {folder.name for folder in (tmp_path / "runs").iterdir()}
    assert runs["machine"].str.startswith(f"{path.stem} = ").all()
    completed = runs[runs["status"] == "completed"]
    assert len(completed)
    assert set(completed["parity"]) == {"passed"}
    bundles = opened([str(path)])
    ((_, own),) = bundles.values()
    assert set(own["experiments"]) <= set(Plan(config=drawn({}, bundles)).sections)
