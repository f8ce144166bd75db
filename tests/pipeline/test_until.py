"""With `until: decided` an experiment stops adding repeats at the look that decides its question."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from unit.make_products import make_case, make_result
from unit.make_results import records_of, write_results
from workspace import Checkout

from paragone.config.expand import expand
from paragone.config.looks import LOOKS, looks

REPEATS = 12
FIRST, SECOND, _ = looks(REPEATS, 1)
EXPERIMENT = "tpu_fashion_conv"
TARGET = f"results/tables/{EXPERIMENT}/differences.csv"


def sequential(folder: Path, backends: list[str], metric: str, **changes: object) -> Checkout:
    """A checkout with one experiment, of up to 12 repeats."""
    made = Checkout(folder)
    made.only(EXPERIMENT, backends, repeats=REPEATS, **changes)
    block = made.config["experiments"][EXPERIMENT]
    block |= {"until": "decided", "figures": [], "tables": ["differences"], "published": ""}
    made.config["primary"]["metric"] = metric
    made.configure()
    return made


def decided(made: Checkout) -> dict[int, bool]:
    """The looks that were taken: by repeats, was the question decided?"""
    found = [json.loads(path.read_text()) for path in made.folder.glob("results/looks/*/*.json")]
    return {one["repeats"]: one["decided"] for one in found}


@pytest.mark.full
@pytest.mark.parametrize("repeats", [FIRST, SECOND])
def test_no_record_is_asked_for_after_the_verdict(tmp_path, repeats):
    """The second backend is twice as fast in every repeat, or in all but one, which takes more of them."""
    backends = ["torch", "tensorflow-mirrored"]
    made = sequential(tmp_path / "checkout", backends, "speed", epochs=4, steps_per_epoch=60)
    ratios = np.full(REPEATS, 2.0)
    if repeats == SECOND:
        ratios[3] = 0.98
    noise = np.random.default_rng(0).uniform(0.999, 1.001, (2, REPEATS))
    speeds = dict(zip(backends, 9000 * noise * [np.ones(REPEATS), ratios], strict=True))
    specs = [spec for spec in expand(made.config, EXPERIMENT) if spec.seed < repeats]
    write_results(made / "results", records_of(specs, speeds=speeds))
    products = made / "results/matmul/torch.json"
    products.parent.mkdir()
    products.write_text(json.dumps(make_result("torch", [make_case((64, 64, 64), gflops=(9, 9))])))
    line = (TARGET, "--cores", "2", "--config", "records_only=True")
    done = made.snakemake(*line)  # which fails where it wants a record that is not there
    assert done.returncode == 0, done.stdout
    assert decided(made) == {
        count: count == repeats for count in (FIRST, SECOND) if count <= repeats
    }
    found = pd.read_csv(made / TARGET).set_index("metric").loc["speed"]
    assert found["n"] == repeats
    assert "faster" in found["verdict"]
    assert found["p_adjusted"] == pytest.approx(min(1, LOOKS * found["p"]))
    assert made.jobs(*line) == {}


@pytest.mark.nightly
def test_no_repeat_is_trained_after_the_verdict(fashion, tmp_path):
    """JAX takes a quarter less memory than eager PyTorch, all but always."""
    brief = {"epochs": 1, "steps_per_epoch": 2}
    made = sequential(tmp_path / "checkout", ["torch", "jax"], "peak memory", **brief)
    made.config["data"]["folder"] = str(fashion.folder)
    made.configure()
    done = made.snakemake(TARGET, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert decided(made) == {FIRST: True}
    assert len(list(made.folder.glob("results/runs/*/record.json"))) == 2 * FIRST < 2 * REPEATS
    found = pd.read_csv(made / TARGET).set_index("metric").loc["peak memory"]
    assert found["n"] == FIRST
    assert "smaller in memory" in found["verdict"] or "equal" in found["verdict"]
    assert made.jobs(TARGET, "--cores", "2") == {}
