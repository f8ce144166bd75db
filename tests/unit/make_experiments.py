"""Records of whole experiments with realistic values, for figures and tables. Deterministic."""

from itertools import product

import numpy as np
from make_records import make_record, of_backend

THROUGHPUT = {8: 328, 16: 551, 32: 808, 64: 1002, 128: 1165, 256: 1273, 512: 1329, 700: 1332}


def reuters() -> list[dict]:
    """Both variants of the text CNN, over one and two replicas; no TPU."""
    plain, double = "reuters-cnn", "reuters-cnn-double-softmax"
    cells = [
        *((plain, backend, n) for backend in ("tensorflow-mirrored", "torch-xla") for n in (1, 2)),
        (plain, "torch", 1),
        *((double, backend, 1) for backend in ("tensorflow-mirrored", "torch", "torch-xla")),
    ]
    common = {"steps_per_epoch": None, "epochs": 10, "global_batch": 32, "parameters": 332_870}
    return [
        make_record(backend, replicas=replicas, workload=workload, **common)
        for workload, backend, replicas in cells
    ]


def batch_sizes() -> list[dict]:
    """Throughput by batch size on two backends, of three runs each; memory ends at 1,024."""
    made = []
    scale = {"tensorflow-mirrored": 0.36, "torch": 0.55}
    common = {"workload": "wide-resnet", "steps_per_epoch": 2, "epochs": 2}
    for backend, batch, seed in product(scale, [*THROUGHPUT, 1024], range(3)):
        cell = {"seed": seed, "global_batch": batch}
        cell["speed"] = scale[backend] * (1 + seed / 50) * THROUGHPUT.get(batch, 1300) ** 0.9
        cell["status"] = "out_of_memory" if batch == 1024 else "completed"
        made.append(make_record(backend, **cell, **common))
    return made


def to_target() -> list[dict]:
    """Three runs each of a batch that hits, one that misses, and one that memory ends, or divergence."""
    common = {"workload": "wide-resnet", "steps_per_epoch": None, "target": 0.85, "patience": 2}
    courses = {8: [0.5, 0.9, 0.9, 0.9], 128: [0.5, 0.6, 0.9, 0.6]}
    made = [
        make_record(seed=seed, global_batch=batch, accuracies=course, epochs=4, **common)
        for batch, course in courses.items()
        for seed in range(3)
    ]
    statuses = "diverged", "out_of_memory", "out_of_memory"
    return made + [
        make_record(seed=seed, global_batch=512, status=status, **common)
        for seed, status in enumerate(statuses)
    ]


GLOBAL, EACH = 1024, 128
COUNTS = (1, 2, 4, 8)
# Seconds of a step over n replicas that share the cores: n (a + b batch), by backend.
COSTS = {"tensorflow-mirrored": (0.006, 9e-5), "torch-xla": (0.002, 3e-4)}


def scaling(how: str, seeds: int = 3, noise: float = 0.0) -> list[dict]:
    """Strong or weak scaling of steps that take a known time, their speeds times a noise by seed."""
    made = []
    common = {"workload": "fashion-cnn", "steps_per_epoch": 8, "epochs": 2}
    for backend, replicas, seed in product(COSTS, COUNTS, range(seeds)):
        fixed, per_example = COSTS[backend]
        batch = GLOBAL if how == "strong" else EACH * replicas
        seconds = replicas * fixed + batch * per_example
        random = np.random.default_rng([seed, replicas, batch, len(backend)])
        cell = {"seed": seed, "replicas": replicas, "global_batch": batch}
        cell["speed"] = batch / seconds * random.normal(1, noise)
        made.append(make_record(backend, **cell, **common))
    return made


def of_cell(made: list[dict], backend: str, replicas: int, batch: int | None = None) -> list[dict]:
    """The records of one backend, number of replicas and global batch; of all batches for None."""
    own = [one for one in of_backend(made, backend) if one["spec"]["replicas"] == replicas]
    return [one for one in own if batch in (None, one["spec"]["global_batch"])]
