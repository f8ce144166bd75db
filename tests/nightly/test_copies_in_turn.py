"""Real contests of a variant with a copy of itself, and with a copy that sleeps: what do verdicts say?

Some hours on two cores that do nothing else. Eager PyTorch keeps its memory, without which its speed
differs from process to process: docs/method.md#contests.
"""

import os
from pathlib import Path

import msgspec
import pytest
from faults.test_held_contests import line_of
from workspace import CONFIG, Arrays, changed, make_spec, succeed, write_files

from paragone.analysis import contests, pairwise
from paragone.base import plugin_folders
from paragone.config.run_spec import Tuned
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


def relations(arrays: Arrays, folder: Path, backend: str, engine: str, share: float) -> list[str]:
    """The relations of a backend to its copy, by so many calls, each with contests of its own."""
    text = SLOW.format(name=engine, share=share)
    write_files(folder / "own", {"plugin.toml": DECLARED, "engines/again.py": text})
    folders = [os.environ[plugin_folders.VARIABLE], str(folder / "own")]
    plugin = {plugin_folders.VARIABLE: os.pathsep.join(folders)}
    tuning = CONFIG["backends"]["torch"]["tuned"] if engine == "torch" else {}
    tuned = {"tuning": msgspec.convert(tuning, Tuned)}
    spec = make_spec("fashion-cnn", backend, global_batch=128, **tuned)
    copy = changed(spec, backend={"name": "again", "engine": "again"})
    proven = {("fashion-cnn", name): True for name in (backend, "again")}
    block = {**CONFIG["contest"], "contests": 30, "minutes": 8}
    found = []
    for number in range(REPETITIONS):
        results = folder / str(number)
        results.mkdir()
        line = line_of(arrays, results, [spec, copy], **block)
        succeed(line, timeout=1200, **plugin)
        record = read_contests(results / "record.json")
        (row,) = pairwise.verdicts(contests.rounds([record], "", proven), {}).to_dict("records")
        assert row["n"] >= 3, row
        found.append(row["winner"].partition(" (")[0] or row["relation"])
    return found


@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.parametrize(
    ("backend", "engine"), [("tensorflow-mirrored", "tensorflow"), ("torch", "torch")]
)
def test_a_copy_that_sleeps_is_found_and_a_plain_one_is_not(
    fashion, tmp_path, backend, engine, share
):
    """By chance one call in twenty declares a copy, and one campaign in ninety has more than two of ten."""
    found = relations(fashion, tmp_path, backend, engine, share)
    if share:
        assert sum(one == backend for one in found) >= 9, found
    else:
        assert sum(one in {backend, "again"} for one in found) <= 2, found
