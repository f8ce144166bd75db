"""FLOP of training on one example are equal between the frameworks, each by its own counter."""

import json
import os
import sys

from workspace import CONFIG, EXAMPLES, OF_EXAMPLES, ROOT, call

from paragone.base import plugins

# Stored shapes of an example and of its label, and the rest of what a model is made from; MobileNetV2 has
# small images, and a stream of text a label for each token.
DATA = {
    "fashion_mnist": ((28, 28, 1), (), 10, None),
    "cats_vs_dogs": ((64, 64, 3), (), 2, None),
    "reuters": ((300,), (), 46, 1000),
    "tiny_shakespeare": ((64,), (64,), 65, 65),
    "tiny_shakespeare_256": ((256,), (256,), 65, 65),
}
CASES = {
    name: DATA[block["dataset"]] for name, block in (CONFIG["workloads"] | OF_EXAMPLES).items()
}
PROGRAM = """
import json, sys
import numpy as np
from paragone import engines
from paragone.data import Dataset
from workspace import make_spec
flop = {}
for name, (shape, of_label, classes, vocabulary) in json.loads(sys.argv[2]).items():
    spec = make_spec(name, sys.argv[1])
    inputs = np.zeros((64, *shape), np.int32 if vocabulary else np.uint8)
    split, names = (inputs, np.zeros((64, *of_label), np.int32)), tuple(map(str, range(classes)))
    dataset = Dataset("made", "real", "e", *split, *split, names, vocabulary, "0" * 64)
    engine = engines.create(spec)
    engine.build(spec, dataset, 2)
    assert engine.peak_device_memory() is None  # of a CPU
    flop[name] = engine.count_flop(spec, dataset).per_example
print(json.dumps(flop))
"""


def test_the_frameworks_agree_to_the_last_operation():
    variables = {
        "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'tests'}",
        plugins.VARIABLE: os.pathsep.join(str(ROOT / "examples" / name) for name in EXAMPLES),
    }
    counted = {}
    for backend in ("torch", "torch-xla", "tensorflow-mirrored", "jax"):
        done = call([sys.executable, "-c", PROGRAM, backend, json.dumps(CASES)], **variables)
        assert done.returncode == 0, done.stderr
        counted[backend] = json.loads(done.stdout.splitlines()[-1])
    for backend, flop in counted.items():
        assert flop == counted["torch"], backend
    # The transformer by hand: four dense layers and two products of an attention, two dense layers; the head.
    model = OF_EXAMPLES["text-transformer"]["model"]
    words, width, hidden = model["length"], model["width"], model["hidden"]
    block = 4 * words * width**2 + 2 * words**2 * width + 2 * words * width * hidden
    by_hand = 3 * 2 * (model["blocks"] * block + width * 46)
    assert counted["torch"]["text-transformer"] == by_hand
