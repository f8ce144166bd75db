"""FLOP of training on one example are equal between the frameworks, each by its own counter."""

import json
import os
import sys

import pytest
from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT, call

from paragone.base import plugins

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


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_frameworks_agree(counted, workload):
    """To the last operation: no tolerance."""
    values = {backend: found[workload] for backend, found in counted.items()}
    assert len(set(values.values())) == 1, values


def test_more_than_the_forward_pass_and_less_than_four(counted):
    """A check of scale by another count: the weights of fashion-cnn, each used at known places."""
    forward = 2 * (24 * 24 * 10 * 25 + 8 * 8 * 20 * 250 + 320 * 50 + 50 * 10)
    assert 2 * forward < counted["torch"]["fashion-cnn"] < 3 * forward


def test_the_transformer_by_hand(counted):
    """Four dense layers and two products of an attention, then two dense layers; the head."""
    model = OF_EXAMPLES["text-transformer"]["model"]
    words, width, hidden = model["length"], model["width"], model["hidden"]
    block = 4 * words * width**2 + 2 * words**2 * width + 2 * words * width * hidden
    by_hand = 3 * 2 * (model["blocks"] * block + width * 46)
    assert counted["torch"]["text-transformer"] == by_hand
