"""Write shapes.npz: small noisy images of discs, squares and crosses. Put your own data in its place."""

import numpy as np

random = np.random.default_rng(0)
rows, columns = np.mgrid[-3.5:4.5, -3.5:4.5]
SHAPES = {
    "disc": np.hypot(rows, columns) < 3,
    "square": np.maximum(abs(rows), abs(columns)) < 3,
    "cross": np.minimum(abs(rows), abs(columns)) < 1,
}

names = random.choice([*SHAPES], 800)
drawn = np.array([SHAPES[name] for name in names]) * random.uniform(100, 200, (800, 1, 1))
noisy = drawn + random.normal(0, 40, drawn.shape)
np.savez("shapes.npz", images=noisy.clip(0, 255).astype(np.uint8), names=names)
