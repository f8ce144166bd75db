"""One version in two environments is not called faster than itself: ten real questions."""

import json
import sys

import pytest
from workspace import CONFIG, Arrays, changed, command, config_of, make_spec, succeed

from paragone.analysis import contests
from paragone.analysis.pairwise import BETTER, verdicts
from paragone.config import environments
from paragone.records.record import read_contests

pytestmark = pytest.mark.alone

QUESTIONS = 10
MOST = 2  # wrong verdicts: of ten, more have a chance of 1 % where each has one of 5 %


def test_the_same_version_twice(small: Arrays, tmp_path):
    """The environment of the tests, and one that is made of the same pins."""
    block = config_of(CONFIG).backends["jax"]
    (pin,) = (pin for pin in environments.pins("jax") if pin.startswith("jax=="))
    block.versions = {"jax": pin.partition("==")[2]}
    keys = {"requirements": environments.requirements(block), "pins": environments.pins("jax")}
    name = environments.variant("jax", block.versions)
    file = tmp_path / f"{name}.json"
    line = command("make_environment", backend=name, **keys, environments=tmp_path, python=file)
    succeed(line, timeout=1200)
    assert json.loads(file.read_text())["python"] != sys.executable
    own = make_spec("fashion-cnn", "jax", global_batch=64)
    twice = [own, changed(own, backend={"name": name, "versions": block.versions})]
    proven = {("fashion-cnn", spec.backend.name): True for spec in twice}
    found = []
    for number in range(QUESTIONS):
        record = tmp_path / f"{number}/record.json"
        contest = {"contests": 5, "rounds": 6, "window_seconds": 0.5, "minutes": 3, "load": 0.1}
        line = command(
            "hold_contests",
            question="twice",
            specs=twice,
            manifest=small.manifest,
            data_folder=small.folder,
            pythons=[file],
            threads=2,
            record=record,
            **contest,
        )
        succeed(line, timeout=1200)
        (row,) = verdicts(contests.rounds([read_contests(record)], "", proven), {}).to_dict(
            "records"
        )
        print(row["relation"], row["n"], row["effect"], row["low"], row["high"])
        found.append(row["relation"])
    assert found.count(BETTER) <= MOST
