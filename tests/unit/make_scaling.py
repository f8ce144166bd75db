"""Scaling experiments whose steps take a known time, and their tidy tables."""

from pathlib import Path

import numpy as np
from make_records import make_record, typed, write_parity

from paragone.analysis import tidy
from paragone.records import parity_reports

GLOBAL, EACH = 1024, 128
COUNTS = (1, 2, 4, 8)
# Seconds of a step over n replicas that share the cores: n (a + b batch), by backend.
COSTS = {"tensorflow-mirrored": (0.006, 9e-5), "torch-xla": (0.002, 3e-4)}


def scaling(how, seeds=3, noise=0.0, backends=COSTS, counts=COUNTS, **options):
    """Records of one experiment, their speeds times a noise by seed."""
    made = []
    for backend in backends:
        fixed, per_example = COSTS[backend]
        for replicas in counts:
            batch = GLOBAL if how == "strong" else EACH * replicas
            seconds = replicas * fixed + batch * per_example
            for seed in range(seeds):
                random = np.random.default_rng([seed, replicas, batch, len(backend)])
                made.append(
                    make_record(
                        backend,
                        seed=seed,
                        replicas=replicas,
                        global_batch=batch,
                        workload="fashion-cnn",
                        steps_per_epoch=8,
                        epochs=2,
                        speed=batch / seconds * random.normal(1, noise),
                        **options,
                    )
                )
    return made


def tabulated(folder: Path, records: list[dict], name: str) -> Path:
    """The file of the tidy table of an experiment's runs."""
    parity = parity_reports.read_parity(
        [write_parity(folder, "fashion-cnn", dict.fromkeys(COSTS, True))]
    )
    tidy.write(tidy.tables(typed(records), name, parity)[0], path := folder / f"{name}.parquet")
    return path
