"""FLOP of training on one example: by hand for one model, equal between the frameworks for all."""

import json
import os
import sys

import pytest
import torch
from torch import nn
from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT, call

from paragone.base import plugins
from paragone.engines.torch import count_flop
from paragone.models.torch import MODELS

WORKLOADS = CONFIG["workloads"] | OF_EXAMPLES
# Stored shape of an example and the rest of what a model is made from; MobileNetV2 has small images.
ONE = {
    "fashion_mnist": ((28, 28, 1), 10, None),
    "cats_vs_dogs": ((64, 64, 3), 2, None),
    "reuters": ((300,), 46, 1000),
}
PROGRAM = """
import json, sys
from types import SimpleNamespace
import numpy as np
from paragone import engines
from paragone.data.batches import train_dtype
from workspace import make_spec
found = {}
for name, (shape, classes, vocabulary) in json.loads(sys.argv[2]).items():
    spec = make_spec(name, sys.argv[1])
    inputs = np.zeros((64, *shape), np.int32 if vocabulary else np.uint8)
    dataset = SimpleNamespace(train_inputs=inputs, train_labels=np.zeros(64, np.int32),
        class_names=list(range(classes)), vocabulary=vocabulary, test_labels=np.zeros(64, np.int32))
    engine = engines.create(spec)
    engine.build(spec, dataset, 2)
    assert engine.peak_device_memory() is None  # of a CPU
    found[name] = engine.count_flop(spec, dataset).per_example
print(json.dumps(found))
"""


def test_fashion_conv_by_hand():
    """28 x 28 x 1 -> 3 x 3 convolution of 64 -> 26 x 26 x 64 -> pooled to 13 x 13 x 64 -> dense 10."""
    convolution = (
        2 * 26 * 26 * 64 * (3 * 3 * 1)
    )  # one multiplication and addition a weight and value
    dense = 2 * (13 * 13 * 64) * 10
    assert (convolution, dense) == (778_752, 216_320)
    # Forward; the gradient of the weights, as much again; of the inputs, only where they are not data.
    by_hand = 2 * convolution + 3 * dense
    assert by_hand == 2_206_464
    with torch.device("meta"):
        model = MODELS["fashion-conv"]((28, 28, 1), 10)
    assert count_flop(model, (28, 28, 1)).per_example == by_hand


def test_a_depthwise_convolution_is_counted_by_its_groups():
    """PyTorch's own formula would say 32 times as much for the gradients of the second one."""
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(1, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Flatten()
        )
    pointwise, depthwise = 2 * 8 * 8 * 32, 2 * 8 * 8 * 32 * 9
    assert count_flop(model, (8, 8, 1)).per_example == 2 * pointwise + 3 * depthwise


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, int]]:
    """FLOP by backend and workload, each backend in a process of its own."""
    cases = {name: ONE[block["dataset"]] for name, block in WORKLOADS.items()}
    variables = {
        "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'tests'}",
        plugins.VARIABLE: os.pathsep.join(str(ROOT / "examples" / name) for name in EXAMPLES),
    }
    found = {}
    for backend in ("torch", "torch-xla", "tensorflow-mirrored", "jax"):
        line = [sys.executable, "-c", PROGRAM, backend, json.dumps(cases)]
        done = call(line, **variables)
        assert done.returncode == 0, done.stderr
        found[backend] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_frameworks_agree(counted, workload):
    """To the last operation: no tolerance."""
    values = {backend: found[workload] for backend, found in counted.items()}
    assert len(set(values.values())) == 1, values


@pytest.mark.nightly
def test_more_than_the_forward_pass_and_less_than_four(counted):
    """A check of scale by another count: the weights of fashion-cnn, each used at known places."""
    forward = 2 * (24 * 24 * 10 * 25 + 8 * 8 * 20 * 250 + 320 * 50 + 50 * 10)
    assert 2 * forward < counted["torch"]["fashion-cnn"] < 3 * forward


@pytest.mark.nightly
def test_the_transformer_by_hand(counted):
    """Four dense layers and two products of an attention, then two dense layers; the head."""
    model = OF_EXAMPLES["text-transformer"]["model"]
    words, width, hidden = model["length"], model["width"], model["hidden"]
    block = 4 * words * width**2 + 2 * words**2 * width + 2 * words * width * hidden
    by_hand = 3 * 2 * (model["blocks"] * block + width * 46)
    assert counted["torch"]["text-transformer"] == by_hand
