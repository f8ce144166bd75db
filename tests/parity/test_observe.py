"""What the parity gate looks at, on made-up images."""

import copy
from dataclasses import fields

import numpy as np
from workspace import CONFIG

from paragone.config.expand import probe
from paragone.data import Dataset
from paragone.models.weights import Weights
from paragone.parity.compare import Observation
from paragone.parity.observe import observe


def observed(workload: str, backend: str = "torch", **model: object) -> Weights:
    """Of 48 training and 16 test images, with other options of the workload's model."""
    config = copy.deepcopy(CONFIG)
    config["workloads"][workload]["model"] |= model
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (64, 28, 28, 1), np.uint8)
    labels = random.integers(0, 10, 64, np.int32)
    split = images[:48], labels[:48], images[48:], labels[48:]
    names = tuple("abcdefghij")
    return observe(
        probe(config, workload, backend), Dataset("d", "real", "e", *split, names, None, "0" * 64)
    )


def test_dropout_is_in_no_group_but_its_own():
    """Training is compared without it, evaluation has none of it."""
    little, much = (observed("wide-resnet", dropout=rate) for rate in (0.01, 0.5))
    assert {name.partition("/")[0] for name in little} == {
        one.name
        for one in fields(Observation)
        if one.name != "rounding"  # of the reference alone
    }
    assert [name for name in little if not np.array_equal(little[name], much[name])] == [
        "dropout/losses",
        "dropout/effect",
    ]
    assert much["dropout/effect"] > 3 * little["dropout/effect"]
    without = observed("wide-resnet", dropout=0.0)
    assert not [name for name in without if name.startswith("dropout")]
    np.testing.assert_array_equal(without["evaluation"], much["evaluation"])


def test_steps_at_the_last_rate_of_a_schedule_follow_those_at_its_first():
    assert len(observed("wide-resnet", dropout=0.0)["training"]) == 2
    assert len(observed("fashion-cnn")["training"]) == 1
