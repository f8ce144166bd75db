"""TensorFlow and Keras for all modules of the project, started alike whatever else is installed.

Where they are installed, TensorFlow Lite imports JAX, and Keras imports scikit-learn, matplotlib and pandas.
The project uses nothing of it, and in the environment of `make all` a start took half as long again. Parts
that need them, such as `keras.wrappers`, lack them until the process ends.
"""

from paragone.base.processes import ignore_keras_settings, without

ignore_keras_settings()
with without("jax", "matplotlib", "pandas", "sklearn"):
    import tensorflow as tf  # first, so that a message about its absence names it and not Keras

    # isort: split
    import keras

__all__ = ["keras", "tf"]
