"""Scaling experiments and all-reduces made from a cost model with known parts."""

import numpy as np
from make_products import make_case, make_result
from make_records import BACKENDS, make_record

from paragone.analysis import all_reduce_tables
from paragone.analysis.scaling.cost import AllReduce, Compute, StepModel
from paragone.config.strategies import workers_of
from paragone.records import measurements

PARAMETERS = 21_000
GLOBAL, EACH = 1024, 128
COUNTS = (1, 2, 4, 8)
SIZES = (4096, 65_536, 1_048_576)
CALL = 2e-4  # seconds that a call takes without any other replica
MODELS = {
    "tensorflow-mirrored": StepModel(
        Compute(0.004, 0.006, 9e-5), AllReduce(8e-5, 2e-10), 4 * PARAMETERS, shared=True
    ),
    "torch-xla": StepModel(
        Compute(0.020, 0.002, 3e-4), AllReduce(5e-5, 4e-10), 4 * PARAMETERS, shared=True
    ),
}


def scaling(how, seeds=3, noise=0.0, backends=MODELS, counts=COUNTS, **options):
    """Records of one experiment whose steps take what the model says, times a noise by seed."""
    made = []
    for backend in backends:
        for replicas in counts:
            batch = GLOBAL if how == "strong" else EACH * replicas
            seconds = MODELS[backend].seconds(replicas, batch / replicas)
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
                        parameters=PARAMETERS,
                        speed=batch / seconds * random.normal(1, noise),
                        **options,
                    )
                )
    return made


def all_reduce_result(backend, counts=COUNTS, noise=0.0, missing=(), host="node-1"):
    """A valid result whose all-reduces cost what the model says; `missing`: counts without devices."""
    model, (engine, strategy, device) = MODELS[backend], BACKENDS[backend]
    random = np.random.default_rng(7)
    groups = []
    for replicas in counts:
        workers = workers_of(engine, strategy, replicas)
        cases = [
            {
                "bytes": size,
                "calls": 2,
                "runs": [
                    2 * (CALL + model.all_reduce.seconds(replicas, size, shared=True))
                    * random.normal(1, noise)
                    for _ in range(3)
                ],
            }
            for size in SIZES
        ]  # fmt: skip
        gone = replicas in missing
        groups.append(
            {
                "replicas": replicas,
                "workers": workers,
                "status": "unavailable" if gone else "completed",
                "reason": "too few" if gone else None,
                "devices": [] if gone else ["cpu"] * (replicas // workers),
                "cases": [] if gone else cases,
            }
        )
    made = {
        "schema": 1,
        "backend": {"name": backend, "engine": engine, "strategy": strategy, "device": device},
        "process": make_result("torch", [make_case((2, 2, 2), gflops=(1,))], host=host)["process"],
        "repeats": 3,
        "groups": groups,
    }
    measurements.check_all_reduces(made)
    return made


def all_reduces(**options):
    """The tidy table of both backends."""
    made = [all_reduce_result(backend, **options) for backend in MODELS]
    return all_reduce_tables.table([measurements.check_all_reduces(one) for one in made])
