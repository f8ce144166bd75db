"""With no data reachable the workflow still finishes, and everything says that it is synthetic."""

import json

import pandas as pd
import pytest
from workspace import UNREACHABLE, Checkout

from paragone.records import record

pytestmark = pytest.mark.full

BACKENDS = ["tensorflow-mirrored", "torch", "torch-xla"]
FIGURES = ["learning_curves", "throughput", "clocks", "predictions"]
NO_DATA = {
    "PARAGONE_MIRRORS": "",
    "HTTP_PROXY": UNREACHABLE,
    "HTTPS_PROXY": UNREACHABLE,
    "http_proxy": UNREACHABLE,
    "https_proxy": UNREACHABLE,
    "NO_PROXY": "",
    "no_proxy": "",
}


@pytest.fixture(scope="module")
def offline(tmp_path_factory) -> tuple[Checkout, str]:
    """The whole workflow with two steps an epoch, `source: auto`, no mirror and no network."""
    checkout = Checkout(tmp_path_factory.mktemp("offline"))
    checkout.only("tpu_fashion_conv", BACKENDS, {"steps_per_epoch": 2, "epochs": 2}, epochs=2)
    done = checkout.snakemake("all", "so_far", "--cores", "2", **NO_DATA)
    assert done.returncode == 0, done.stdout
    return checkout, done.stdout


def test_the_run_says_so_at_once(offline):
    assert "NOTICE: SYNTHETIC DATA in place of fashion_mnist" in offline[1]


def test_records_and_tables_say_so(offline):
    results = offline[0] / "results"
    records = [record.read(path) for path in results.glob("runs/*/record.json")]
    assert [made.status for made in records] == ["completed"] * 3
    assert {made.data.source for made in records} == {"synthetic"}
    assert set(pd.read_csv(results / "tables/runs.csv")["data_source"]) == {"synthetic"}
    for suffix in (".md", ".tex", ".csv"):
        text = (results / f"tables/tpu_fashion_conv/comparison{suffix}").read_text()
        assert "SYNTHETIC DATA" in text


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_say_so(offline, figure):
    """Matplotlib writes each text as a comment before its outlines."""
    svg = (offline[0] / f"results/figures/tpu_fashion_conv/{figure}.svg").read_text()
    assert "SYNTHETIC DATA: shows that the workflow runs" in svg


def test_pages_say_so(offline):
    for name in ("index", "so_far"):
        assert "SYNTHETIC DATA" in (offline[0] / f"results/{name}.html").read_text()


def test_source_synthetic_asks_nobody(offline, mirror):
    """Real data at hand are left alone; the arrays of the run above are used again."""
    checkout = offline[0]
    target = "results/data/fashion_mnist/manifest.json"
    line = [target, "--cores", "1", "--config", "data={'source': 'synthetic'}"]
    done = checkout.snakemake(*line, PARAGONE_MIRRORS=str(mirror))
    assert done.returncode == 0, done.stdout
    assert "NOTICE" not in done.stdout
    assert json.loads((checkout / target).read_text())["source"] == "synthetic"
    assert len(list((checkout / "data").glob("arrays/*"))) == 1
