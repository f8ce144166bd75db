"""On import: no settings of Keras but its own, for whatever imports it afterwards.

It takes backend, layouts, epsilons and limits of epochs from the environment, and from a keras.json of the
user, or of anybody in /tmp where the home cannot be written.
"""

import os

for name in [name for name in os.environ if name.startswith("KERAS_")]:
    del os.environ[name]
os.environ["KERAS_HOME"] = os.devnull
