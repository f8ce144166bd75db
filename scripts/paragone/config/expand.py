"""From the config to the runs: every experiment's matrix, expanded and checked.

Standard library only: the Snakefile imports this module at parse time.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from msgspec.structs import replace

from paragone.base.digests import canonical
from paragone.base.errors import UserError
from paragone.base.typed_json import typed
from paragone.config.engines import (
    ONE_REPLICA_EACH,
    ONE_WORKER,
    WHOLE,
    check_workload,
    engine_named,
    is_here,
)
from paragone.config.run_spec import AS_INSTALLED, BATCHES, TUNED, Backend, Spec, Tuned
from paragone.config.schedules import LearningRate

# What the parity gate compares with.
REFERENCE = {
    "engine": "reference",
    "strategy": WHOLE,
    "device": "cpu",
    "environment": "torch",
}
PROBE: dict[str, Any] = {
    "global_batch": 16,
    "epochs": 3,
    "steps_per_epoch": 2,
}
# Steps of each run that are compared with the reference's: the second depends on the optimizer's state.
FIRST_STEPS = 2

# The two names of a batch size in the config; a block gives one of them.
BATCH_SIZES = ("global_batch", "per_replica_batch")
# Keys of a workload that an experiment, or a cell of its matrix, may set otherwise.
OVERRIDES = (*BATCH_SIZES, "epochs", "steps_per_epoch", "train_examples", "precision", "target")


def expand(config: dict[str, Any], experiment: str) -> list[Spec]:
    """The runs of an experiment, repeats outermost.

    Raises `UserError` naming the key if a name is unknown or a batch does not divide.
    """
    block = config["experiments"][experiment]
    key = f"experiments.{experiment}"
    runs = []
    for repeat in range(block.get("repeats", 1)):
        for row, cell in enumerate(block["matrix"]):
            for choice in _choices(cell):
                where = f"{key}.matrix[{row}]"
                seed = config["seed"] + repeat
                runs.append(spec_of(config, replaced(block, choice), where, seed))
                _check_steps(runs[-1], where)
    return list({spec.name: spec for spec in runs}.values())


@dataclass(frozen=True)
class Question:
    """Variants that do the same work, to be timed in turn in at most so many contests.

    `name`: a file name that a person can read, made unique by the hash of all that decides the result.
    """

    name: str
    variants: tuple[Spec, ...]
    contests: int

    @property
    def gpus(self) -> int | None:
        """The number of GPUs that it takes, if any: variants take turns on the same devices."""
        return max(spec.gpus or 0 for spec in self.variants) or None


def timed_in_turn(config: dict[str, Any], experiment: str, runs: list[Spec]) -> list[Question]:
    """What the contests of an experiment decide: each group of its cells that can be compared.

    Every contest takes the specifications of the first repeat: a seed does not change a speed.
    """
    number = config["experiments"][experiment].get("contests", 0)
    groups: dict[tuple[str, int], list[Spec]] = {}
    for spec in runs:
        if number and spec.seed == config["seed"]:
            groups.setdefault((spec.workload.name, spec.global_batch), []).append(spec)
    lengths = {**config["contest"], "contests": number}
    questions = []
    for (workload, batch), variants in groups.items():
        text = " ".join([canonical(lengths), *(spec.sha256 for spec in variants)])
        hashed = hashlib.sha256(text.encode()).hexdigest()[:8]
        questions.append(Question(f"{workload}.b{batch}.{hashed}", tuple(variants), number))
    return questions


def _check_steps(run: Spec, where: str) -> None:
    """Raise `UserError` here where every run would, after its start: too few training examples."""
    if examples := run.workload.train_examples:
        try:
            run.steps(examples)
        except UserError as error:
            raise UserError(f"{where}: {error}") from error


def probe(config: dict[str, Any], workload: str, backend: str, replicas: int = 1) -> Spec:
    """The short run that the parity gate compares; `reference` is a backend too.

    Its learning rate changes within it where that of the workload changes. In double precision unless the
    backend's `parity` says otherwise: what remains of a deviation is then a difference of method, not of
    rounding.
    """
    config = with_reference(config)
    precision = config["backends"][backend].get("parity", "float64")
    choice = {"workload": workload, "backend": backend, "precision": precision, **PROBE}
    choice |= {"replicas": replicas}
    spec = spec_of(config, choice, "parity", config["seed"])
    several = spec.workload.accumulated
    if several == 2:  # a checkpoint must hold gradients of an unfinished update
        spec = replace(spec, epochs=spec.epochs + 1)
    steps = PROBE["steps_per_epoch"] if several == 1 else several + 1  # not only whole updates
    learning_rate = shortened(spec.workload.learning_rate, spec.epochs, steps)
    return replace(
        spec,
        workload=replace(spec.workload, learning_rate=learning_rate, target=None),
        # Its inputs are at hand; how they get to a device is compared by the first steps of each run.
        backend=_fed_as_usual(spec.backend),
        steps_per_epoch=steps,
        least_evaluation_batch=spec.global_batch,
    )


def probes_of(config: dict[str, Any], backend: str, runs: Iterable[Spec]) -> list[Spec]:
    """`probe` of each workload that a backend trains in some run; of every one for the reference.

    With one replica, unless an engine drives every accelerator: then with the most that its runs have, if
    the probe's batch divides by it (else it has one, and cannot run).
    """
    specs = [spec for spec in runs if backend in (spec.backend.name, "reference")]
    block = with_reference(config)["backends"][backend]
    replicas = 1
    if (
        block["device"] != "cpu"
        and is_here(block["engine"])
        and engine_named(block["engine"]).drives_all
    ):
        most = max(spec.replicas for spec in specs)
        replicas = most if PROBE["global_batch"] % most == 0 else 1
    workloads = sorted({spec.workload.name for spec in specs})
    return [probe(config, workload, backend, replicas) for workload in workloads]


def first_steps(run: Spec) -> Spec | None:
    """What the reference computes of a run's first steps; the same for all runs that must agree.

    None for a run with dropout: its framework draws the masks.
    """
    if run.workload.dropout:
        return None
    steps = FIRST_STEPS * run.workload.accumulated
    split = engine_named(run.backend.engine).batch_norm if run.replicas > 1 else WHOLE
    replicas = 1 if split == WHOLE else run.replicas
    return replace(
        run,
        workload=replace(run.workload, target=None),
        tuning=Tuned(),
        backend=Backend("reference", "reference", split, "cpu"),
        replicas=replicas,
        workers=1,
        per_replica_batch=run.global_batch // replicas,
        epochs=run.epochs if run.workload.learning_rate.schedule else 1,  # its rates depend on them
        steps_per_epoch=min(steps, run.steps_per_epoch or steps),
        # Of what it costs; the steps themselves are in double precision.
        precision="float32" if run.precision == "float64" else run.precision,
    )


def with_reference(config: dict[str, Any]) -> dict[str, Any]:
    """The config with the parity gate's reference among its backends."""
    return {**config, "backends": {"reference": REFERENCE, **config["backends"]}}


def shortened(rate: LearningRate, epochs: int, steps: int) -> LearningRate:
    """The learning rate with its first changes within a run of so few epochs of so many steps.

    The warm-up is one epoch long, each of `decay` follows an epoch after the one before, and the end of a
    schedule that ends before the run does is that of the last epoch but one.
    """
    epoch = steps if rate.unit == "step" else 1
    warmup, schedule = rate.warmup, rate.schedule
    if warmup:
        warmup = replace(warmup, length=min(warmup.length, epoch))
    if schedule and schedule.over is not None:
        schedule = replace(schedule, over=min(schedule.over, (epochs - 1) * epoch))
    decay = tuple(
        replace(step, after=min(step.after, number * epoch))
        for number, step in enumerate(rate.decay, start=1)
    )
    return replace(rate, warmup=warmup, schedule=schedule, decay=decay)


def named_backend(config: dict[str, Any], name: str, where: str) -> Backend:
    """A backend of the config. Raises `UserError` naming the key for an unknown name."""
    return Backend.of(name, config["backends"][known_name(config["backends"], name, where)])


def _fed_as_usual(backend: Backend) -> Backend:
    return replace(backend, feed=BATCHES)


def _choices(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values that a matrix row lists."""
    values = [value if isinstance(value, list) else [value] for value in cell.values()]
    return [dict(zip(cell, choice, strict=True)) for choice in product(*values)]


def spec_of(config: dict[str, Any], choice: dict[str, Any], where: str, seed: int) -> Spec:
    """The specification of one choice of workload, backend, replicas and what it sets otherwise.

    Raises `UserError` naming the key, which `where` begins.
    """
    name = known_name(config["workloads"], choice["workload"], f"{where}.workload")
    backend = named_backend(config, choice["backend"], f"{where}.backend")
    overrides = {key: choice[key] for key in OVERRIDES if key in choice}
    workload = replaced(config["workloads"][name], overrides, {"name": name})
    global_batch, per_replica_batch = _batch_sizes(workload, choice["replicas"], where)
    try:
        choices = {
            "global_batch": global_batch,
            "per_replica_batch": per_replica_batch,
            "epochs": workload.pop("epochs"),
            "steps_per_epoch": workload.pop("steps_per_epoch", None),
            "precision": workload.pop("precision", "float32"),
            "workload": workload,
            "backend": backend,
            "replicas": choice["replicas"],
            "workers": _workers(choice, backend, where),
            "seed": seed,
            "deterministic": config["deterministic"],
            "tuning": _tuning(config, choice, where),
        }
        spec = typed(Spec, choices)
    except ValueError as error:  # a count beyond what counts can be
        raise UserError(f"{where}: {error}") from error
    check_workload(spec, where)
    return spec


def _tuning(config: dict[str, Any], choice: dict[str, Any], where: str) -> dict[str, Any]:
    """The backend's block `tuned` where the row of the matrix asks for it, else nothing."""
    if choice.get("tuning", AS_INSTALLED) != TUNED:
        return {}
    backend = choice["backend"]
    if "tuned" not in config["backends"][backend]:
        raise UserError(
            f"{where}.tuning: nothing is tuned in backends.{backend}; give it a block `tuned`"
        )
    return config["backends"][backend]["tuned"]


def replaced(block: dict[str, Any], *overrides: dict[str, Any]) -> dict[str, Any]:
    """`block` with the keys of each of `overrides`; a later one wins.

    This is the precedence of the config: a cell of a matrix, then its experiment, then its workload. A batch
    size has two names: an override that gives either replaces both.
    """
    merged = dict(block)
    for override in overrides:
        if any(key in override for key in BATCH_SIZES):
            merged = {key: value for key, value in merged.items() if key not in BATCH_SIZES}
        merged |= override
    return merged


def _batch_sizes(workload: dict[str, Any], replicas: int, where: str) -> tuple[int, int]:
    """Take the batch size out of a workload: examples of a step over all replicas, and of each replica."""
    if (per_replica := workload.pop("per_replica_batch", None)) is not None:
        return per_replica * replicas, per_replica
    total = workload.pop("global_batch")
    if total % replicas:
        raise UserError(
            f"{where}: a global batch of {total} does not divide over {replicas} "
            "replicas; choose a multiple"
        )
    return total, total // replicas


def _workers(choice: dict[str, Any], backend: Backend, where: str) -> int:
    """The row's `workers`; else one, or one per replica where the strategy needs several."""
    replicas = choice["replicas"]
    strategies = engine_named(backend.engine).strategies if is_here(backend.engine) else {}
    if backend.strategy not in strategies:  # of records alone; else the config was refused
        return choice.get("workers", 1)
    spread = strategies[backend.strategy]
    workers = choice.get("workers", 1 if spread == ONE_WORKER else replicas)
    allowed = {ONE_WORKER: workers == 1, ONE_REPLICA_EACH: workers == replicas}
    if replicas % workers or not allowed.get(spread, True):
        raise UserError(
            f"{where}.workers: {replicas} replica(s) cannot be spread over {workers} worker(s) by "
            f"strategy {backend.strategy}, which has {spread}; leave workers out"
        )
    return workers


def known_name(blocks: dict[str, Any], name: str, where: str) -> str:
    """The name of one of these blocks. Raises `UserError` naming the key, `where`, for another."""
    if name not in blocks:
        raise UserError(f"{where}: there is no {name!r}; known are {', '.join(blocks)}")
    return name


def products(config: dict[str, Any]) -> dict[str, Backend]:
    """The backends by name whose products the block `matmul` asks for; `UserError` for an unknown name."""
    names = config["matmul"]["backends"]
    return {name: _fed_as_usual(named_backend(config, name, "matmul.backends")) for name in names}
