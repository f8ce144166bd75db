"""TensorFlow and Keras for all modules of the project, started alike whatever else is installed.

Where they are installed, TensorFlow Lite imports JAX, and Keras imports scikit-learn, matplotlib and pandas.
The project uses nothing of it, and in the environment of `make all` a start took half as long again. Parts
that need them, such as `keras.wrappers`, lack them until the process ends.
"""

import sys

from paragone.base.processes import ignore_keras_settings

ignore_keras_settings()
_hidden = {"jax", "matplotlib", "pandas", "sklearn"} - sys.modules.keys()
sys.modules.update(dict.fromkeys(_hidden))  # type: ignore[arg-type]  # importing None is an error
try:
    import tensorflow as tf  # first, so that a message about its absence names it and not Keras

    # isort: split
    import keras
finally:
    for _name in _hidden:
        del sys.modules[_name]

__all__ = ["keras", "tf"]
