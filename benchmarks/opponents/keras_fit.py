"""Fashion-MNIST, one convolution, in the handbook's way: arrays in memory, Keras' `fit`.

    python keras_fit.py <folder of arrays>

Prints the examples per second of an epoch, after one that compiles. The model is the project's.
"""

import json
import sys
import time
from pathlib import Path

import keras
import numpy as np

from paragone.models.tensorflow import MODELS

folder = Path(sys.argv[1])
images = np.load(folder / "train_inputs.npy").astype(np.float32)
labels = np.load(folder / "train_labels.npy")
model = MODELS["fashion-conv"]((28, 28, 1), 10)
model.compile(
    optimizer=keras.optimizers.Adam(0.001),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["sparse_categorical_accuracy"],
)
model.fit(images[:5000], labels[:5000], batch_size=1000, verbose=0)
begun = time.perf_counter()
model.fit(images, labels, batch_size=1000, verbose=0)
print(json.dumps({"examples_per_second": len(images) / (time.perf_counter() - begun)}))
