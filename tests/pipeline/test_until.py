"""With `until: decided` an experiment stops adding repeats at the look that decides its question."""

import json

import pandas as pd
import pytest
from workspace import Checkout

from paragone.config.looks import LOOKS, looks

pytestmark = pytest.mark.full

REPEATS = 12


@pytest.fixture
def sequential(fashion, tmp_path) -> Checkout:
    """JAX takes a quarter less memory than eager PyTorch, all but always; up to 12 repeats."""
    made = Checkout(tmp_path / "checkout")
    made.config["data"]["folder"] = str(fashion.folder)
    backends = ["torch", "jax"]
    made.only("tpu_fashion_conv", backends, epochs=1, steps_per_epoch=2, repeats=REPEATS)
    block = made.config["experiments"]["tpu_fashion_conv"]
    block |= {"until": "decided", "figures": [], "tables": ["differences"], "published": ""}
    made.config["primary"]["metric"] = "peak memory"
    made.configure()
    return made


def test_no_repeat_is_trained_after_the_verdict(sequential):
    target = "results/tables/tpu_fashion_conv/differences.csv"
    done = sequential.snakemake(target, "--cores", "2")
    assert done.returncode == 0, done.stdout
    first, *_ = looks(REPEATS, 1)
    results = sequential / "results"
    (look,) = results.glob("looks/tpu_fashion_conv/*.json")
    assert json.loads(look.read_text()) == {"repeats": first, "decided": True}
    assert len(list(results.glob("runs/*/record.json"))) == 2 * first < 2 * REPEATS
    found = pd.read_csv(sequential / target).set_index("metric").loc["peak memory"]
    assert found["n"] == first
    assert "smaller in memory" in found["verdict"] or "equal" in found["verdict"]
    assert found["p_adjusted"] == pytest.approx(min(1, LOOKS * found["p"]))
    assert sequential.jobs(target, "--cores", "2") == {}
