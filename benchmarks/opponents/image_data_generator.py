"""WideResNet-16 of width 1 in the batch size lab's way: Keras' ImageDataGenerator and `fit`.

    python image_data_generator.py <folder of arrays> <batch size>

Prints the examples per second of an epoch, after one that compiles. The model is the project's.
"""

import json
import sys
import time
from pathlib import Path

import keras
import numpy as np
from keras.src.legacy.preprocessing.image import ImageDataGenerator

from paragone.models.tensorflow import MODELS

folder, batch = Path(sys.argv[1]), int(sys.argv[2])
images = np.load(folder / "train_inputs.npy")[:10000].astype(np.float32)
labels = np.load(folder / "train_labels.npy")[:10000]
generator = ImageDataGenerator(
    featurewise_center=True,
    featurewise_std_normalization=True,
    horizontal_flip=True,
    width_shift_range=0.2,
    height_shift_range=0.2,
)
generator.fit(images)
model = MODELS["wide-resnet"]((28, 28, 1), 10, width=1, dropout=0.01)
model.compile(
    optimizer=keras.optimizers.SGD(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["sparse_categorical_accuracy"],
)
model.fit(generator.flow(images[: 5 * batch], labels[: 5 * batch], batch_size=batch), verbose=0)
begun = time.perf_counter()
model.fit(generator.flow(images, labels, batch_size=batch), verbose=0)
print(json.dumps({"examples_per_second": len(images) / (time.perf_counter() - begun)}))
