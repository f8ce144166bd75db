"""Valid, varied records for the tests of everything after the records. Deterministic."""

import copy
import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec import convert, to_builtins
from msgspec.structs import replace
from workspace import CONFIG, changed, make_spec

from paragone.analysis import tidy
from paragone.base import atomic_files, typed_json
from paragone.config.run_spec import Tuned
from paragone.records import run_metrics
from paragone.records.run_record import RunRecord

LABELS = {
    "tensorflow-mirrored": "TensorFlow Mirrored",
    "torch": "PyTorch",
    "torch-xla": "PyTorch/XLA SPMD",
    "torch-ddp": "PyTorch DDP",
    "tensorflow-multiworker": "TensorFlow MultiWorkerMirrored",
    "tensorflow-tpu": "TensorFlow TPU",
}
BACKENDS = {name: CONFIG["backends"][name] for name in LABELS}
PALETTE = {name: block["color"] for name, block in BACKENDS.items()}
CLASS_NAMES = [
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
]  # fmt: skip
TRAIN_EXAMPLES = {"fashion_mnist": 60_000, "cats_vs_dogs": 2002, "reuters": 8982}
BEGUN = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
FIRST_STEPS = {
    "reason": None,
    "deviations": {"updates": 2e-3, "means": 0.0, "variances": 0.0, "training": 1e-6},
    "allowed": {"updates": 3e-2, "means": 1e-5, "variances": 2e-2, "training": 2e-3},
}
# Of fashion-conv.
FLOP = 2_206_464  # of training on one example
MODEL = {"parameters": 108_810, "initializer": "keras", "initial_weights": "b" * 64}
MODEL |= {"final_weights": None}
TUNED = {"variables": {"MALLOC_TOP_PAD_": "1"}}
INPUT_SHAPES = {"fashion_mnist": [28, 28, 1], "cats_vs_dogs": [224, 224, 3], "reuters": [300]}


def make_record(
    backend: str = "torch",
    *,
    seed: int = 0,
    status: str = "completed",
    epochs: int = 3,
    replicas: int = 1,
    global_batch: int = 1000,
    workload: str = "fashion-conv",
    steps_per_epoch: int | None = 60,
    source: str = "real",
    host: str = "node-1",
    resumed_at: int | None = None,
    target: float | None = None,
    accuracies: list[float] | None = None,
    train_examples: int | None = None,
    parameters: int = MODEL["parameters"],
    speed: float | None = None,
    patience: int = 1,
    precision: str = "float32",
    tuning: dict | None = None,
) -> dict:
    """One record whose parts add up. Statuses other than completed stop it early.

    `speed`: examples/s, with 3 % of noise an epoch unless it is given.
    """
    random = np.random.default_rng([seed, list(BACKENDS).index(backend), replicas, global_batch])
    spec = make_spec(workload, backend, replicas, global_batch, seed=seed, epochs=epochs)
    spec = replace(spec, steps_per_epoch=steps_per_epoch, precision=precision)
    spec = replace(spec, tuning=convert(tuning or {}, Tuned))
    if target is not None:
        spec = changed(spec, {"target": {"accuracy": target, "patience": patience, "stop": False}})
    measured = {"completed": epochs, "diverged": min(2, epochs)}.get(status, 0)
    examples = train_examples or spec.workload.train_examples
    examples = examples or TRAIN_EXAMPLES[spec.workload.dataset]
    steps = steps_per_epoch or examples // global_batch
    rows = _epochs(random, measured, steps, global_batch, status, accuracies, speed)
    starts = [1] if resumed_at is None else [1, resumed_at]
    compared = measured and not spec.workload.model.get("dropout")
    record = {
        "schema": 2,
        "run": f"{spec.name}-{host.replace('_', '-')}",
        "status": status,
        "reason": None if status == "completed" else f"the run was {status}",
        "spec": json.loads(spec.to_json()),
        "data": make_data(spec.workload.dataset, source, examples),
        "model": {**MODEL, "parameters": parameters},
        "first_steps": copy.deepcopy(FIRST_STEPS) if compared else None,
        "processes": [],
        "clocks": _clocks(random) if measured else None,
        "epochs": rows,
    }
    if status == "unavailable":
        record |= dict.fromkeys(("data", "model"))
    if measured:
        record["model"]["final_weights"] = f"{seed:064x}"
    record["processes"] = [
        make_process(start, host, rank) for start in starts for rank in range(spec.workers)
    ]
    for process in record["processes"]:
        process["variables"] = {**(tuning or {}).get("variables", {})}
        if process["rank"] == 0:
            last = next((start for start in starts if start > process["first_epoch"]), epochs + 1)
            own = rows[process["first_epoch"] - 1 : last - 1]
            process["epochs"] = [make_activity(row["train_seconds"]) for row in own]
    set_times(record)
    return sealed(record)


def make_data(
    dataset: str = "fashion_mnist",
    source: str = "real",
    train_examples: int = TRAIN_EXAMPLES["fashion_mnist"],
) -> dict:
    """What a record says of its data."""
    return {
        "dataset": dataset,
        "source": source,
        "edition": "official" if source == "real" else source,
        "manifest_sha256": "a" * 64,
        "train_examples": train_examples,
        "test_examples": 10_000,
        "test_labels": [7],
        "train_majority": 0.1,
        "test_majority": 0.1,
        "input_shape": INPUT_SHAPES[dataset],
    }


def make_process(first_epoch: int, host: str, rank: int) -> dict:
    """A process of the made machine of this name; its times are not set."""
    machine = {
        "host": host,
        "system": "Linux",
        "processor": "Example CPU 3.0 GHz",
        "cores": 2,
        "memory_gib": 8,
        "accelerators": [],
        "driver": None,
    }
    return {
        "rank": rank,
        "started": "2026-01-01T00:00:00+00:00",  # until its times are set
        "ended": None,
        "age": None,
        "first_epoch": first_epoch,
        "machine": {"fingerprint": atomic_files.sha256_of(machine), **machine},
        "cores": 2,
        "devices": ["cpu:0"],
        "threads": 2,
        "variables": {},
        "software": {"python": "3.11.9", "numpy": "2.3.0"},
        "git": {"commit": "c" * 40, "dirty": False},
        "manifest_sha256": "a" * 64,
        "load_before": 0.1,
        "life": make_activity(10.0),  # neighbors had 2 % of the host
        "peak_host_bytes": 2**30,
        "peak_device_bytes": None,
        "modes": {"math_mode": "ieee", "deterministic": True, "collectives": None},
        "programs": None,
        "epochs": [],
    }


def make_activity(seconds: float, others: float = 0.02, **changes: float | None) -> dict:
    """Return the load of a host with two cores: the run has one, and other processes this share."""
    made = {"seconds": seconds, "run": seconds, "busy": seconds * (1 + 2 * others)}
    made |= {"idle": 2 * seconds - made["busy"], "stolen": 0.0}
    made |= {"quota_throttled": 0.0}
    return made | dict.fromkeys(["heat_throttles", "accelerator_joules"]) | changes


def set_times(record: dict) -> None:
    """Let the ages of the starts add up to the clocks; each start is a minute after the one before ended."""
    starts = sorted({process["first_epoch"] for process in record["processes"]})
    age = sum(clocks(record).values()) / len(starts) if record["clocks"] else None
    for process in record["processes"]:
        begun = BEGUN + starts.index(process["first_epoch"]) * timedelta(seconds=(age or 0) + 60)
        ended = age and (begun + timedelta(seconds=age)).isoformat()
        process |= {"started": begun.isoformat(), "ended": ended, "age": age}


def clocks(record: dict) -> dict[str, float]:
    """Seconds by part."""
    return run_metrics.parts(typed([record])[0])


def time_to_target(record: dict) -> tuple[float, float] | None:
    return run_metrics.time_to_target(typed([record])[0])


def sealed(record: dict) -> dict:
    """The same with the digest that its other fields have."""
    try:
        return to_builtins(typed_json.sealed(*typed([{**record, "digest": None}])))
    except ValueError:  # what is no record has a digest, too
        rest = {key: value for key, value in record.items() if key != "digest"}
        return {**rest, "digest": atomic_files.sha256_of(rest)}


def validated(record: dict, majority: float = 0.1) -> dict:
    """The record of a workload that holds 6,000 more examples out, and validates on them as it tests."""
    record["spec"]["workload"]["validation"] = {"last": 6000}
    held = {"validation_examples": 6000, "validation_labels": [9], "validation_majority": majority}
    record["data"] |= held
    for row in record["epochs"]:
        row |= {f"validation_{name}": row[f"test_{name}"] for name in ("loss", "accuracy")}
        row |= {"validation_examples": 6000, "validation_labels": 9}
    return sealed(record)


def typed(made: list[dict]) -> list[RunRecord]:
    """Made records as `record.read` returns them."""
    return [typed_json.typed(RunRecord, each) for each in made]


def of_backend(made: list[dict], name: str) -> list[dict]:
    """The records of one backend."""
    return [one for one in made if one["spec"]["backend"]["name"] == name]


def tabulated(
    made: list[dict],
    parity: bool | dict[tuple[str, str], bool] = True,
    experiment: str = "one",
    **tables: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tidy tables of made records: runs and epochs; `parity`: of all, or by workload and backend."""
    cells = [tuple(one["spec"][kind]["name"] for kind in ("workload", "backend")) for one in made]
    passed = parity if isinstance(parity, dict) else dict.fromkeys(cells, parity)
    flop = dict.fromkeys(dict(cells), FLOP)
    return tidy.tables(typed(made), experiment, passed, flop=flop, **tables)


def write_records(folder: Path, records: list[dict]) -> list[Path]:
    """Write each as <folder>/runs/<run>/record.json and, if completed, its predictions."""
    paths = []
    for record in records:
        run = folder / "runs" / record["run"]
        run.mkdir(parents=True, exist_ok=True)
        (run / "record.json").write_text(json.dumps(record))
        paths.append(run / "record.json")
        if record["status"] == "completed":
            np.savez(run / "predictions.npz", **make_predictions(record["spec"]["seed"]))
    return paths


def write_parity(folder: Path, workload: str, passed: dict[str, bool]) -> Path:
    """Write a parity report."""
    path = folder / "parity" / f"{workload}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    backends = {name: {"passed": value, "deviations": {}} for name, value in passed.items()}
    path.write_text(json.dumps({"workload": workload, "backends": backends}))
    return path


def make_predictions(seed: int) -> dict[str, np.ndarray]:
    """25 blocky images; three (positions 4, 12 and 13 + seed % 10) are predicted wrongly."""
    random = np.random.default_rng(seed)
    labels = np.arange(25, dtype=np.int32) % 10
    predictions = labels.copy()
    for wrong in (4, 12, 13 + seed % 10):
        predictions[wrong] = (labels[wrong] + 1) % 10
    blocks = np.random.default_rng(9).integers(0, 256, (25, 7, 7, 1), dtype=np.uint8)
    return {
        "images": blocks.repeat(4, axis=1).repeat(4, axis=2),
        "labels": labels,
        "predictions": predictions,
        "probabilities": random.uniform(0.4, 1, 25).astype(np.float32),
        "class_names": np.array(CLASS_NAMES),
    }


def _epochs(random, measured, steps, batch, status, accuracies, exact) -> list[dict]:
    rows = []
    final = 0.88 + random.normal(0, 0.004)
    speed = 9000 * random.uniform(0.6, 1.6)
    for epoch in range(1, measured + 1):
        seconds = steps * batch / (exact or speed * random.normal(1, 0.03))
        broken = status == "diverged" and epoch == measured
        accuracy = accuracies[epoch - 1] if accuracies else final - 0.2 / epoch**1.5
        rows.append(
            {
                "epoch": epoch,
                "learning_rate": 0.001,
                "steps": steps,
                "train_seconds": seconds,
                "train_loss": None if broken else 0.3 + 12 / epoch**3 + random.normal(0, 0.01),
                "train_accuracy": 0.1 if broken else accuracy + 0.01,
                "evaluate_seconds": 0.4 + random.uniform(0, 0.05),
                "test_loss": None if broken else 0.4 + 4 / epoch**3,
                "test_accuracy": 0.1 if broken else accuracy,
                "updates": steps,
                "batches": steps,
                "order": epoch,
                "train_examples": steps * batch,
                "test_examples": 10_000,
                "test_labels": 7,
            }
        )
    return rows


def _clocks(random) -> dict:
    cold = {"imports": 3.0 + random.uniform(0, 2), "devices": 0.3 + random.uniform(0, 0.2)}
    cold |= {"data": 0.2, "compilation": 1.5 + random.uniform(0, 3)}
    return {**cold, "checkpoint": 0.15, "first_steps": 0.5, "other": 0.25}


def speed(record: dict) -> float:
    """Examples/s of its epochs."""
    return run_metrics.epochs_speed(typed([record])[0])


def waited(record: dict) -> float:
    """Seconds end to end, without the gate's first steps."""
    return sum(clocks(record).values()) - record["clocks"]["first_steps"]
