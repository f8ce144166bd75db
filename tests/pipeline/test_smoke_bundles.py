"""The bundle of the smoke run, drawn elsewhere beside a copy of itself: whole, apart, and nothing else."""

import os
import shutil

import pandas as pd
import pytest
from workspace import Checkout

from paragone.records.bundles import unpack


def succeeded(checkout: Checkout, *arguments: str) -> None:
    done = checkout.snakemake(*arguments, "--cores", "2")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def archive(smoke, results):
    succeeded(smoke.checkout, "bundle", *smoke.options)
    return results / "bundle.zip"


@pytest.fixture(scope="module")
def drawn(archive, tmp_path_factory):
    """A checkout that drew the bundle and a copy of it: the same machine, later."""
    made = Checkout(tmp_path_factory.mktemp("bundles"))
    for name in ("then", "now"):
        shutil.copyfile(archive, made / f"{name}.zip")
    wanted = ["figures/one_device/throughput.svg", "tables/one_device/machines.md"]
    wanted += ["tables/one_device/runs.parquet"]
    bundles = ("--config", "bundles=[then.zip, now.zip]")
    succeeded(made, *(f"results/{name}" for name in wanted), *bundles)
    return made / "results"


def test_a_bundle_holds_every_record_and_verdict(archive, results):
    _, contents = unpack.read(archive)
    for pattern in ("runs/*/record.json", "parity/*.json", "matmul/*.json", "allreduce/*.json"):
        for path in results.glob(pattern):
            assert contents[path.relative_to(results).as_posix()] == path.read_bytes()
    assert archive.stat().st_size < 2**20


def test_a_bundle_names_no_place_of_its_machine(archive, smoke, fashion):
    """Neither the checkout, nor where data are stored or came from."""
    _, contents = unpack.read(archive)
    places = [str(smoke.checkout.folder), str(fashion.folder)]
    places += filter(None, os.environ.get("PARAGONE_MIRRORS", "").split(";"))
    for name, content in contents.items():
        assert [place for place in places if place.encode() in content] == [], name


@pytest.mark.full
def test_two_bundles_stand_side_by_side(drawn):
    runs = pd.read_parquet(drawn / "tables/one_device/runs.parquet")
    assert set(runs["run"].str.partition("@")[2]) == {"then", "now"}
    assert set(runs["machine"].str.partition(" = ")[0]) == {"then", "now"}
    assert set(runs["parity"]) == {"passed"}
    points = pd.read_csv(drawn / "figures/one_device/throughput.csv")
    assert points["series"].str.contains(r"\(on (?:then|now)\)", regex=True).all()
