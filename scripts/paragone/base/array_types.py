"""Arrays of weights by canonical name; see `models.canonical_weights` for names and layouts."""

import numpy as np

Weights = dict[str, np.ndarray]

Shapes = dict[str, tuple[int, ...]]
