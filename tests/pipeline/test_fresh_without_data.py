"""With no data reachable the workflow still finishes, and everything says that it is synthetic."""

import json

import pandas as pd
import pytest
from fresh import BACKENDS

from paragone.records import record

pytestmark = pytest.mark.full

FIGURES = ["learning_curves", "throughput", "clocks", "predictions"]


def test_the_run_says_so_at_once(fresh):
    assert "NOTICE: SYNTHETIC DATA in place of fashion_mnist" in fresh.output


def test_records_and_tables_say_so(fresh):
    results = fresh.results
    records = [record.read(path) for path in results.glob("runs/*/record.json")]
    assert [made.status for made in records] == ["completed"] * len(BACKENDS)
    assert {made.data.source for made in records} == {"synthetic"}
    assert set(pd.read_csv(results / "tables/runs.csv")["data_source"]) == {"synthetic"}
    for suffix in (".md", ".tex", ".csv"):
        text = (results / f"tables/tpu_fashion_conv/comparison{suffix}").read_text()
        assert "SYNTHETIC DATA" in text


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_say_so(fresh, figure):
    """Matplotlib writes each text as a comment before its outlines."""
    svg = (fresh.results / f"figures/tpu_fashion_conv/{figure}.svg").read_text()
    assert "SYNTHETIC DATA: shows that the workflow runs" in svg


def test_pages_say_so(fresh):
    for name in ("index", "so_far"):
        assert "SYNTHETIC DATA" in (fresh.results / f"{name}.html").read_text()


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
