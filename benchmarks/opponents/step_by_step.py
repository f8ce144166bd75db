"""Text CNN on Reuters in the notes' way: an own loop, one call of a `tf.function` a step.

    python step_by_step.py <folder of arrays> <vocabulary>

Prints the examples per second of an epoch, after one that compiles. The model is the project's.
"""

import json
import sys
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from paragone.models.tensorflow import MODELS

folder = Path(sys.argv[1])
tokens = np.load(folder / "train_inputs.npy")
labels = np.load(folder / "train_labels.npy")
batches = (
    tf.data.Dataset.from_tensor_slices((tokens, labels))
    .shuffle(len(tokens))
    .batch(32, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
    .cache()
)
model = MODELS["text-cnn"](tokens.shape[1:], int(labels.max()) + 1, int(sys.argv[2]))
optimizer = keras.optimizers.Nadam(0.001)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = keras.metrics.Mean()
train_accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(texts: tf.Tensor, classes: tf.Tensor) -> None:
    """One step of the optimizer."""
    with tf.GradientTape() as tape:
        logits = model(texts, training=True)
        loss = loss_of(classes, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    train_loss.update_state(loss)
    train_accuracy.update_state(classes, logits)


def epoch() -> int:
    """Train one; how many steps it had."""
    steps = 0
    for texts, classes in batches:
        train_step(texts, classes)
        steps += 1
    return steps


epoch()
begun = time.perf_counter()
trained = 32 * epoch()
print(json.dumps({"examples_per_second": trained / (time.perf_counter() - begun)}))
