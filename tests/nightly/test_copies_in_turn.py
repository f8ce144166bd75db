"""Real contests of TensorFlow with a copy of itself, and with a copy that sleeps: what do verdicts say?

Some hours on two cores that do nothing else.
"""

import os

import pytest
from faults.test_held_contests import line_of
from workspace import CONFIG, changed, make_spec, succeed, write_files

from paragone.analysis import contests, pairwise
from paragone.base import plugin_folders
from paragone.records.record import read_contests

REPETITIONS = 10
pytestmark = pytest.mark.alone
COPY = """
import time

from paragone.engines.tensorflow import ENGINE as Engine


def slowed(batches):
    mark = time.perf_counter()
    for batch in batches:
        yield batch
        time.sleep({share} * (time.perf_counter() - mark))
        mark = time.perf_counter()


class Copy(Engine):
    def train_epoch(self, seed, learning_rates, batches, steps):
        return super().train_epoch(seed, learning_rates, slowed(batches), steps)


ENGINE = Copy
"""
DECLARED = """[engines.again]
strategies = {mirrored = "one worker"}
batch_norm = "whole"
"""


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_copy_that_sleeps_is_found_and_a_plain_one_is_not(fashion, tmp_path, share):
    """By chance one call in twenty declares a copy, and one campaign in ninety has more than two of ten."""
    plugin = {"plugin.toml": DECLARED, "engines/again.py": COPY.format(share=share)}
    write_files(tmp_path / "own", plugin)
    plugins = os.pathsep.join([os.environ[plugin_folders.VARIABLE], str(tmp_path / "own")])
    spec = make_spec("fashion-cnn", "tensorflow-mirrored", global_batch=128)
    copy = changed(spec, backend={"name": "again", "engine": "again"})
    proven = {("fashion-cnn", one.backend.name): True for one in (spec, copy)}
    block = {**CONFIG["contest"], "contests": 30, "minutes": 8}
    winners = []
    for number in range(REPETITIONS):
        results = tmp_path / str(number)
        results.mkdir()
        line = line_of(fashion, results, [spec, copy], **block)
        succeed(line, timeout=1200, **{plugin_folders.VARIABLE: plugins})
        record = read_contests(results / "record.json")
        (row,) = pairwise.verdicts(contests.rounds([record], "", proven), {}).to_dict("records")
        assert row["n"] >= 3, row
        winners.append(row["winner"].partition(" (")[0])
    if share:
        assert winners.count("tensorflow-mirrored") >= 9, winners
    else:
        assert winners.count("") >= REPETITIONS - 2, winners
