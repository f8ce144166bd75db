"""Thousands of mutated configs: each is accepted, or refused by one message; nothing else."""

import copy
import random
from collections import Counter
from typing import Any

import pytest
import yaml
from plan import Plan
from workspace import CONFIG, Checkout

from paragone.base.errors import UserError
from paragone.config.expand import expand
from paragone.config.measurement_plans import products
from paragone.config.read import read
from paragone.config.validate import validate

pytestmark = pytest.mark.nightly

SEEDS = range(30)
MUTATIONS = 100  # per seed
VALUES = [None, True, -1, 0, 1, 2.5, float("nan"), "", "torch", "é{x}", [], [1, 1], {}, {"a": 1}]
NAMES = ["colour", "epochs", "global_batch", "replicas", "", "é{x}"]


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key or index) of a tree."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    own = [(node, key) for key in keys]
    return own + [place for _, key in own for place in places(node[key])]


def mutate(config: dict[str, Any], draw: random.Random) -> None:
    """Replace, delete, add or exchange one to three values anywhere."""
    for _ in range(draw.randint(1, 3)):
        found = places(config)
        node, key = draw.choice(found)
        match draw.choice(["replace", "delete", "add", "exchange"]):
            case "replace":
                node[key] = copy.deepcopy(draw.choice(VALUES))
            case "delete":
                del node[key]
            case "add" if isinstance(node, dict):
                node[draw.choice(NAMES)] = copy.deepcopy(draw.choice(VALUES))
            case _:
                other, at = draw.choice(found)
                node[key] = copy.deepcopy(other[at])


def outcome(config: dict[str, Any]) -> str:
    """What becomes of a config where the Snakefile reads it."""
    try:
        validate(config)
        for name in config["experiments"]:
            expand(config, name)
        products(config)
    except UserError:
        return "refused"
    return "accepted"


@pytest.mark.injects(
    "4 input",
    "configs with values replaced, deleted, added, exchanged",
    "one to three at random places",
    times=MUTATIONS,
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_config_is_accepted_or_refused(seed):
    draw = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        config = copy.deepcopy(CONFIG)
        mutate(config, draw)
        found[outcome(config)] += 1
    assert found["refused"] > MUTATIONS / 4


@pytest.mark.injects(
    "4 input", "config files with other bytes", "one to five at random places", times=5
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_file_is_read_or_refused(seed, tmp_path):
    draw = random.Random(seed)
    text = yaml.safe_dump(CONFIG).encode()
    for _ in range(5):
        damaged = bytearray(text)
        for _ in range(draw.randint(1, 5)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path = tmp_path / "config.yaml"
        path.write_bytes(damaged)
        try:
            found = read(path)
        except UserError as error:
            found = {"refused": str(error)}
        assert found.get("refused", "") == "" or str(path) in found["refused"]


def test_thousands_of_runs_are_planned(tmp_path):
    """The default experiments with a hundred repeats each."""
    made = Checkout(tmp_path)
    for block in made.config["experiments"].values():
        block["repeats"] = 100
    made.configure()
    plan = Plan(config=made.config)
    assert len(plan.runs) > 3000
    assert made.jobs("all", "--cores", "2") == plan.jobs()
