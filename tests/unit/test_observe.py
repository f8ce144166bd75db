"""What the parity gate observes, on made-up images."""

import copy
from dataclasses import fields

import numpy as np
from made_images import make_images
from workspace import CONFIG

from paragone.config.expand import probe
from paragone.models.weights import Weights
from paragone.parity.compare import Observation
from paragone.parity.observe import observe


def observed(workload: str, **model: object) -> Weights:
    """By PyTorch, with other options of the workload's model."""
    config = copy.deepcopy(CONFIG)
    config["workloads"][workload]["model"] |= model
    return observe(probe(config, workload, "torch"), make_images(48, 16))


def test_dropout_is_in_no_group_but_its_own():
    """Training is compared without it, evaluation has none of it."""
    little, much = (observed("wide-resnet", dropout=rate) for rate in (0.01, 0.5))
    # `rounding` is of the reference alone.
    groups = {each.name for each in fields(Observation)} - {"rounding"}
    assert {name.partition("/")[0] for name in little} == groups
    differing = [name for name in little if not np.array_equal(little[name], much[name])]
    assert differing == ["dropout/losses", "dropout/effect"]
    assert much["dropout/effect"] > 3 * little["dropout/effect"]
    without = observed("wide-resnet", dropout=0.0)
    assert not [name for name in without if name.startswith("dropout")]
    np.testing.assert_array_equal(without["evaluation"], much["evaluation"])
    # Steps at the last rate of the schedule follow those at its first.
    assert len(without["training"]) == 2
    assert len(observed("fashion-cnn")["training"]) == 1
