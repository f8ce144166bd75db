"""Records of whole experiments with realistic values, for figures and tables. Deterministic."""

from itertools import product

import numpy as np
from make_records import make_record, of_backend
from workspace import PAPERS

OF_WIDE_RESNET = {
    "workload": "wide-resnet",
    "model": {"width": 1, "dropout": 0.01},
    "train_examples": 10_000,
}
THROUGHPUT = {8: 328, 16: 551, 32: 808, 64: 1002, 128: 1165, 256: 1273, 512: 1329, 700: 1332}


def reuters() -> list[dict]:
    """Both variants near the published curves; no TPU."""
    plain, double = "reuters-cnn", "reuters-cnn-double-softmax"
    cells = [
        *((plain, backend, n) for backend in ("tensorflow-mirrored", "torch-xla") for n in (1, 2)),
        (plain, "torch", 1),
        (plain, "tensorflow-tpu", 8),
        *((double, backend, 1) for backend in ("tensorflow-mirrored", "torch", "torch-xla")),
        (double, "tensorflow-tpu", 8),
    ]
    systems = {plain: "1 GPU (Colab), custom loop", double: "8 TPU cores (Colab), TPUStrategy"}
    common = {"dataset": "reuters", "train_examples": 8982, "steps_per_epoch": None, "epochs": 10}
    common |= {"global_batch": 32, "parameters": 332_870}
    made = []
    for workload, backend, replicas in cells:
        random = np.random.default_rng([0, replicas, len(workload), len(backend)])
        curves = {
            metric: [value * random.normal(1, 0.012) for value in values]
            for metric, values in _published_curves(systems[workload]).items()
        }
        cell = {"replicas": replicas, "workload": workload, "curves": curves}
        cell["status"] = "unavailable" if "tpu" in backend else "completed"
        made.append(make_record(backend, speed=4000 / replicas, **cell, **common))
    return made


def batch_sizes(seeds: int = 3) -> list[dict]:
    """Throughput by batch size on three backends; memory ends at 1,024, and one run diverges."""
    made = []
    scale = {"tensorflow-mirrored": 0.36, "torch": 0.55, "torch-xla": 0.3}
    common = OF_WIDE_RESNET | {"steps_per_epoch": 2, "epochs": 2}
    for backend, batch, seed in product(scale, [*THROUGHPUT, 1024], range(seeds)):
        noise = np.random.default_rng([seed, batch, len(backend)]).normal(1, 0.02)
        speed = scale[backend] * noise * THROUGHPUT.get(batch, 1300) ** 0.9
        status = "out_of_memory" if batch == 1024 else "completed"
        if (backend, batch, seed) == ("torch", 700, 1) or (backend, batch) == ("torch-xla", 512):
            status = "diverged"
        cell = {"seed": seed, "global_batch": batch, "speed": speed, "status": status}
        made.append(make_record(backend, **cell, **common))
    return made


def to_target(seeds: int = 3, target: float = 0.85) -> list[dict]:
    """Small batches hit, the larger ones miss more and more; memory ends at 512 for PyTorch."""
    made = []
    scale = {"torch": 1.0, "tensorflow-mirrored": 0.6}
    common = OF_WIDE_RESNET | {"steps_per_epoch": None, "target": target, "patience": 2}
    for backend, batch, seed in product(scale, (8, 32, 128, 512), range(seeds)):
        random = np.random.default_rng([seed, batch, len(backend)])
        best = 0.885 - 0.012 * np.log2(batch / 8) + random.normal(0, 0.004)
        pace = 2 + batch / 40
        curve = [best - 0.45 * np.exp(-k / pace) for k in range(1, 21)]
        hits = [k for k in range(1, 20) if min(curve[k - 1 : k + 1]) >= target]
        cell = {"seed": seed, "global_batch": batch, "accuracies": curve}
        cell |= {"epochs": hits[0] + 1 if hits else 20}
        cell |= {"speed": scale[backend] * THROUGHPUT[batch] * random.normal(1, 0.02)}
        if backend == "torch" and batch == 512:
            cell["status"] = "out_of_memory" if seed else "diverged"
        made.append(make_record(backend, **cell, **common))
    return made


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


def _published_curves(system: str) -> dict[str, list[float]]:
    rows = PAPERS["reuters_strategies"].published["reuters_strategies"].rows
    names = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    curves = {
        name: [row.number for row in rows if (row.metric, row.system) == (name, system)]
        for name in names
    }
    assert all(len(values) == 10 for values in curves.values())
    return curves


def of_cell(made: list[dict], backend: str, replicas: int, batch: int | None = None) -> list[dict]:
    """The records of one backend, number of replicas and global batch; of all batches for None."""
    own = [one for one in of_backend(made, backend) if one["spec"]["replicas"] == replicas]
    return [one for one in own if batch in (None, one["spec"]["global_batch"])]
