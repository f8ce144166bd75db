"""TensorFlow and Keras, which start alike whatever else is installed: modules of ours take both from here.

Where they are installed, TensorFlow Lite imports JAX, and Keras scikit-learn, matplotlib and pandas.
None of it is used here, and in the environment of `make all` a start took half as long again. The parts that
need them, such as `keras.wrappers`, are without them until the process ends.
"""

from paragone.base import keras_settings  # noqa: F401
from paragone.base.imports import without

with without("jax", "matplotlib", "pandas", "sklearn"):
    import tensorflow as tf  # where it is absent a message names it, not Keras

    # isort: split
    import keras

__all__ = ["keras", "tf"]
