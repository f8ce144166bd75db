"""Records of whole experiments with realistic values, for figures and tables. Deterministic."""

from itertools import product

from make_records import make_record, of_backend

SIZES = (8, 64, 512, 1024)
SCALED, COUNTS = ("tensorflow-mirrored", "torch-xla"), (1, 2, 4, 8)


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
    """Four batch sizes on two backends, of three runs each; memory ends at 1,024."""
    common = {"workload": "wide-resnet", "steps_per_epoch": 2, "epochs": 2}
    full = {1024: "out_of_memory"}
    return [
        make_record(
            backend, seed=seed, global_batch=batch, status=full.get(batch, "completed"), **common
        )
        for backend, batch, seed in product(("tensorflow-mirrored", "torch"), SIZES, range(3))
    ]


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


def scaling(how: str, counts: tuple[int, ...] = COUNTS) -> list[dict]:
    """Strong or weak scaling over these replicas on two backends, of three runs each."""
    common = {"workload": "fashion-cnn", "steps_per_epoch": 8, "epochs": 2}
    batches = {count: 1024 if how == "strong" else 128 * count for count in counts}
    return [
        make_record(backend, seed=seed, replicas=count, global_batch=batches[count], **common)
        for backend, count, seed in product(SCALED, counts, range(3))
    ]


def of_cell(made: list[dict], backend: str, replicas: int, batch: int | None = None) -> list[dict]:
    """The records of one backend, number of replicas and global batch; of all batches for None."""
    own = [one for one in of_backend(made, backend) if one["spec"]["replicas"] == replicas]
    return [one for one in own if batch in (None, one["spec"]["global_batch"])]
