"""TensorFlow and Keras, which start alike whatever else is installed: modules of ours take both from here.

Where they are installed, TensorFlow Lite imports JAX, and Keras scikit-learn, matplotlib and pandas. None of
it is used here, and in the environment of `make all` a start took half as long again. The parts that need
them, such as `keras.wrappers`, are without them until the process ends.
"""

import os

from paragone.base.imports import without

# Keras takes backend, layouts, epsilons and limits of epochs from them, and from a keras.json of the user, or
# of anybody in /tmp where the home cannot be written.
for name in [name for name in os.environ if name.startswith("KERAS_")]:
    del os.environ[name]
os.environ["KERAS_HOME"] = os.devnull

with without("jax", "matplotlib", "pandas", "sklearn"):
    import tensorflow as tf  # where it is absent a message names it, not Keras

    # isort: split
    import keras

__all__ = ["keras", "tf"]
