"""Real contests of a variant with a copy of itself, and with a copy that sleeps: what do verdicts say?

Some hours on two cores that do nothing else. Eager PyTorch keeps its memory, without which its speed
differs from process to process: docs/method.md#contests.
"""

import json
import sys
from pathlib import Path

import pytest
from workspace import CONFIG, ROOT, succeed, write_files

from paragone.analysis import contests, pairwise
from paragone.records.record import read_contests

REPETITIONS = 10
pytestmark = pytest.mark.alone
SLOW = '''"""{name}, which sleeps for a twentieth of each step if `SHARE` is 0.05."""
import time

from paragone.engines.{name} import ENGINE as Engine

SHARE = {share}


def slowed(batches):
    mark = time.perf_counter()
    for batch in batches:
        yield batch
        time.sleep(SHARE * (time.perf_counter() - mark))
        mark = time.perf_counter()


class Slow(Engine):
    def train_epoch(self, seed, learning_rates, batches, steps):
        return super().train_epoch(seed, learning_rates, slowed(batches), steps)


ENGINE = Slow
'''
DECLARED = """[engines.again]
strategies = {single = "one worker", mirrored = "one worker"}
batch_norm = "whole"
tuned = {fused_optimizer = "as of torch"}
"""


def relations(folder: Path, backend: str, engine: str, strategy: str, share: float) -> list[str]:
    """The relations of a backend to its copy, by so many calls, each with contests of its own."""
    write_files(
        folder,
        {
            "own/plugin.toml": DECLARED,
            "own/engines/again.py": SLOW.format(name=engine, share=share),
        },
    )
    again = {"engine": "again", "strategy": strategy, "device": "cpu", "environment": "torch"}
    cell = {"backend": [backend, "again"], "replicas": 1, "global_batch": 128}
    if engine == "torch":
        again, cell = (
            {**again, "tuned": CONFIG["backends"]["torch"]["tuned"]},
            {**cell, "tuning": "tuned"},
        )
    config = {
        "plugins": ["own"],
        "only": ["copies"],
        "backends": {"again": again | {"label": "again", "color": "#AA4499"}},
        "contest": {"minutes": 8},
        "primary": {"experiment": "copies", "metric": "speed"},
        "experiments": {
            "copies": {
                "title": "A copy",
                "workload": "fashion-cnn",
                "contests": 30,
                "repeats": 1,
                "matrix": [cell],
                "figures": [],
                "tables": ["differences"],
            }
        },
    }
    (folder / "config.json").write_text(json.dumps(config))
    found = []
    for number in range(REPETITIONS):
        line = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--cores", "2"]
        line += ["--configfile", "config.json", "--until", "contests"]
        results = f"results{number}"
        line += ["--config", f"pathvars={{results: {results}}}"]
        succeed(line, timeout=1200, cwd=folder)
        (path,) = folder.glob(f"{results}/contests/*/record.json")
        record = read_contests(path)
        proven = {("fashion-cnn", name): True for name in (backend, "again")}
        (row,) = pairwise.verdicts(contests.rounds([record], "", proven), {}).to_dict("records")
        assert row["n"] >= 3, row
        found.append(row["winner"].partition(" (")[0] or row["relation"])
    return found


@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.parametrize(
    ("backend", "engine", "strategy"),
    [("tensorflow-mirrored", "tensorflow", "mirrored"), ("torch", "torch", "single")],
)
def test_a_copy_that_sleeps_is_found_and_a_plain_one_is_not(
    tmp_path, backend, engine, strategy, share
):
    """By chance one call in twenty declares a copy, and one campaign in ninety has more than two of ten."""
    found = relations(tmp_path, backend, engine, strategy, share)
    if share:
        assert sum(one == backend for one in found) >= 9, found
    else:
        assert sum(one in {backend, "again"} for one in found) <= 2, found
