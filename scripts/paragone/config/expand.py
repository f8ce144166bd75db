"""From the config to the runs: every experiment's matrix, expanded and checked."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import UNSET, to_builtins
from msgspec.structs import asdict, replace

from paragone.base.atomic_files import canonical, sha256
from paragone.base.errors import UserError, meant
from paragone.base.typed_json import ABSENT, typed
from paragone.config.engines import (
    ONE_REPLICA_EACH,
    ONE_WORKER,
    WHOLE,
    check_workload,
    engine_named,
    is_here,
    reference_of,
)
from paragone.config.environments import content_of, variant
from paragone.config.run_spec import (
    AS_INSTALLED,
    BATCHES,
    TUNED,
    Backend,
    Spec,
    Start,
    Tuned,
    Workload,
    WorkloadKeys,
)
from paragone.config.schedules import LearningRate
from paragone.config.schema import (
    BATCH_SIZES,
    BackendBlock,
    Config,
    Experiment,
    MatrixRow,
    WorkloadBlock,
)

# What the parity gate compares with.
REFERENCE = BackendBlock(
    engine="reference", strategy=WHOLE, device="cpu", environment="torch", label="", color=""
)
PROBE_BATCH, PROBE_EPOCHS, PROBE_STEPS = 16, 3, 2

# Keys of a workload that an experiment, or a row of its matrix, may set otherwise.
OVERRIDES = (*BATCH_SIZES, "epochs", "steps_per_epoch", "train_examples", "precision", "target")


def expand(config: Config, experiment: str) -> list[Spec]:
    """The runs of an experiment, repeats outermost.

    Raises `UserError` naming the key if a name is unknown or a batch does not divide.
    """
    block = config.experiments[experiment]
    runs = []
    for repeat in range(block.repeats):
        repeated = replace(config, seed=config.seed + repeat)
        for number, row in enumerate(block.matrix):
            where = f"experiments.{experiment}.matrix[{number}]"
            for cell in cells(row):
                workload = cell.workload or block.workload
                run = spec_of(repeated, workload, cell, where, block)
                if examples := run.workload.train_examples:
                    try:  # too few are an error here, not of each run after its start
                        run.steps(run.split(examples)[0])
                    except UserError as error:
                        raise UserError(f"{where}: {error}") from error
                runs.append(run)
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


def timed_in_turn(config: Config, experiment: str, runs: list[Spec]) -> list[Question]:
    """What the contests of an experiment decide: each group of its cells that can be compared.

    Every contest takes the specifications of the first repeat: a seed does not change a speed.
    """
    number = config.experiments[experiment].contests
    groups: dict[tuple[str, int], list[Spec]] = {}
    for spec in runs:
        if number and spec.seed == config.seed:
            groups.setdefault((spec.workload.name, spec.global_batch), []).append(spec)
    lengths = {**asdict(config.contest), "contests": number}
    questions = []
    for (workload, batch), variants in groups.items():
        text = " ".join([canonical(lengths), *(spec.sha256 for spec in variants)])
        hashed = hashlib.sha256(text.encode()).hexdigest()[:8]
        questions.append(Question(f"{workload}.b{batch}.{hashed}", tuple(variants), number))
    return questions


def probe(config: Config, workload: str, backend: str, replicas: int = 1) -> Spec:
    """The short run that the parity gate compares; `reference` is a backend too.

    Its learning rate changes within it where that of the workload changes. In double precision unless the
    backend's `parity` says otherwise.
    """
    config = replace(config, backends=with_reference(config.backends))
    cell = MatrixRow(
        backend=backend,
        replicas=replicas,
        global_batch=PROBE_BATCH,
        epochs=PROBE_EPOCHS,
        steps_per_epoch=PROBE_STEPS,
        precision=config.backends[backend].parity,
    )
    spec = spec_of(config, workload, cell, "parity")
    several = spec.workload.accumulated
    if several == 2:  # a checkpoint must hold gradients of an unfinished update
        spec = replace(spec, epochs=spec.epochs + 1)
    steps = PROBE_STEPS if several == 1 else several + 1  # not only whole updates
    block = config.workloads[workload]
    # Of a framework's own schedule the first steps of a run of any length.
    rate = in_numbers(block.learning_rate, workload, block.epochs, block.steps_per_epoch or 1000)
    learning_rate = shortened(rate, spec.epochs, steps)
    return replace(
        spec,
        workload=replace(spec.workload, learning_rate=learning_rate, target=None),
        # Its inputs are at hand; how they get to a device is compared by the first steps of each run.
        backend=replace(spec.backend, feed=BATCHES),
        steps_per_epoch=steps,
        least_evaluation_batch=spec.global_batch,
    )


def probes_of(config: Config, backend: str, runs: Iterable[Spec]) -> list[Spec]:
    """`probe` of each workload that a backend trains in some run; of every one for the reference.

    With one replica, unless an engine drives every accelerator: then with the most that its runs have, if
    the probe's batch divides by it (else it has one, and cannot run).
    """
    specs = [spec for spec in runs if backend in (spec.backend.name, "reference")]
    block = with_reference(config.backends)[backend]
    replicas = 1
    if block.device != "cpu" and is_here(block.engine) and engine_named(block.engine).drives_all:
        most = max(spec.replicas for spec in specs)
        replicas = most if PROBE_BATCH % most == 0 else 1
    by_workload = {spec.workload.name: spec for spec in specs}
    probes = [probe(config, name, backend, replicas) for name in sorted(by_workload)]
    if backend != "reference":
        return probes
    return [replace(spec, backend=reference_of(by_workload[spec.workload.name])) for spec in probes]


def with_reference(backends: dict[str, BackendBlock]) -> dict[str, BackendBlock]:
    """The backends with the parity gate's reference among them."""
    return {"reference": REFERENCE, **backends}


def shortened(rate: LearningRate, epochs: int, steps: int) -> LearningRate:
    """The learning rate with its first changes within a run of so few epochs of so many steps.

    The warm-up is one epoch long, each of `decay` and of a schedule's steps follows an epoch after the one
    before, and the end of a schedule that ends before the run does is that of the last epoch but one.
    """
    epoch = steps if rate.unit == "step" else 1
    warmup, schedule = rate.warmup, rate.shape
    if warmup:
        warmup = replace(warmup, length=min(warmup.length, epoch))
    if schedule and schedule.over is not None:
        schedule = replace(schedule, over=min(schedule.over, (epochs - 1) * epoch))
    if schedule and schedule.step_size:
        schedule = replace(schedule, step_size=min(schedule.step_size, epoch))
    if schedule and schedule.milestones:
        places = enumerate(schedule.milestones, start=1)
        milestones = tuple(min(after, number * epoch) for number, after in places)
        schedule = replace(schedule, milestones=milestones)
    decay = tuple(
        replace(step, after=min(step.after, number * epoch))
        for number, step in enumerate(rate.decay, start=1)
    )
    shape = to_builtins(schedule) if schedule else rate.schedule
    return replace(rate, warmup=warmup, schedule=shape, decay=decay)


def in_numbers(rate: LearningRate, name: str, epochs: int, steps: int | None) -> LearningRate:
    """The learning rate with `epochs` and `steps` in a framework's own schedule as numbers, of a whole run.

    Raises `UserError` for steps that are not known before the data set is; `name`: of the workload.
    """
    lengths = {"epochs": epochs, "steps": steps and epochs * steps} if rate.of_framework else {}
    texts = {key: text for key, text in (rate.schedule or {}).items() if isinstance(text, str)}
    numbers = {key: lengths[text] for key, text in texts.items() if text in lengths}
    if None in numbers.values():
        raise UserError(
            f"workloads.{name}.learning_rate.schedule: has `steps`, and the run no steps_per_epoch; "
            "add it, or write a number"
        )
    return replace(rate, schedule=rate.schedule | numbers) if numbers else rate


def cells(row: MatrixRow) -> list[MatrixRow]:
    """The cells of a row: every combination of the values that it lists; versions are a part of a backend."""
    lists = {key: value for key, value in asdict(row).items() if isinstance(value, list)}
    combined = [
        replace(row, **dict(zip(lists, choice, strict=True))) for choice in product(*lists.values())
    ]
    for cell in combined:
        versions: Any = cell.versions or {}  # one choice
        cell.backend, cell.versions = variant(str(cell.backend), versions), ABSENT
    return combined


def spec_of(
    config: Config, name: str, cell: MatrixRow, where: str, experiment: Experiment | None = None
) -> Spec:
    """The specification of a cell that trains the workload `name`, in a matrix of an experiment or outside.

    Raises `UserError` naming the key, which `where` begins.
    """
    workload = config.workloads[known_name(config.workloads, name, f"{where}.workload")]
    backend = named_backend(config, str(cell.backend), f"{where}.backend")
    replicas: Any = cell.replicas  # one number: only rows have lists
    values = _overridden(workload, *([experiment] if experiment else []), cell)
    keys = {key: getattr(workload, key) for key in WorkloadKeys.__struct_fields__}
    keys |= {key: values.pop(key) for key in ("train_examples", "target")}
    lengths = (values[key] for key in ("epochs", "steps_per_epoch"))
    keys["learning_rate"] = in_numbers(workload.learning_rate, name, *lengths)
    if (start := workload.start) and not (config.records_only and not Path(start.file).exists()):
        keys["start"] = _with_digest(start, f"workloads.{name}.start")
    try:
        spec = Spec(
            workload=Workload(name=name, **keys),
            backend=backend,
            replicas=replicas,
            workers=_workers(cell, backend, where),
            seed=config.seed,
            deterministic=config.deterministic,
            tuning=_tuning(config, cell, where),
            **_with_both_batch_sizes(values, replicas, where),
        )
        spec = typed(Spec, spec)
    except ValueError as error:  # a count beyond what counts can be, or a target of another task
        raise UserError(f"{where}: {error}") from error
    check_workload(spec, where)
    return spec


def _with_digest(start: Start, where: str) -> Start:
    """Return initial weights in a file with the SHA-256 of its content, which decides a result."""
    path = Path(start.file)
    if not path.is_file():
        raise UserError(f"{where}.file: there is no file {start.file!r} here; correct its path")
    status = path.stat()
    digest = start.sha256 or _digest_of(path, status.st_mtime_ns, status.st_ctime_ns)
    return replace(start, sha256=digest)


_digest_of = cache(lambda path, *_: sha256(path))


def _overridden(*blocks: WorkloadBlock | Experiment | MatrixRow) -> dict[str, Any]:
    """The values of `OVERRIDES`, each of the last block that sets it.

    This is the precedence of the config: a cell of a matrix, then its experiment, then its workload. A batch
    size has two names: a block that gives either replaces both.
    """
    values: dict[str, Any] = dict.fromkeys(OVERRIDES)
    for block in blocks:
        if any(getattr(block, key) for key in BATCH_SIZES):
            values |= dict.fromkeys(BATCH_SIZES)
        for key in OVERRIDES:
            value = getattr(block, key, ABSENT)
            # Null is a value of steps_per_epoch: all batches.
            if value not in (ABSENT, UNSET) or (key == "steps_per_epoch" and value is None):
                values[key] = value
    return values


def named_backend(config: Config, name: str, where: str) -> Backend:
    """A backend of the config. Raises `UserError` naming the key for an unknown name."""
    block = config.backends[known_name(config.backends, name, where)]
    return replace(block.backend(name), environment=content_of(block.environment))


def _tuning(config: Config, cell: MatrixRow, where: str) -> Tuned:
    if (cell.tuning or AS_INSTALLED) != TUNED:
        return Tuned()
    tuned = config.backends[str(cell.backend)].tuned
    if tuned is None:
        raise UserError(
            f"{where}.tuning: nothing is tuned in backends.{cell.backend}; give it a block `tuned`"
        )
    return tuned


def _with_both_batch_sizes(values: dict[str, Any], replicas: int, where: str) -> dict[str, Any]:
    total, per_replica = (values[key] for key in BATCH_SIZES)
    if total and total % replicas:
        raise UserError(
            f"{where}: a global batch of {total} does not divide over {replicas} "
            "replicas; choose a multiple"
        )
    sizes = (total or per_replica * replicas, per_replica or total // replicas)
    return values | dict(zip(BATCH_SIZES, sizes, strict=True))


def _workers(cell: MatrixRow, backend: Backend, where: str) -> int:
    """The row's `workers`; else one, or one per replica where the strategy needs several."""
    replicas: Any = cell.replicas
    strategies = engine_named(backend.engine).strategies if is_here(backend.engine) else {}
    if backend.strategy not in strategies:  # of records alone; else the config was refused
        return cell.workers or 1
    spread = strategies[backend.strategy]
    workers = cell.workers or (1 if spread == ONE_WORKER else replicas)
    allowed = {ONE_WORKER: workers == 1, ONE_REPLICA_EACH: workers == replicas}
    if replicas % workers or not allowed.get(spread, True):
        raise UserError(
            f"{where}.workers: {replicas} replica(s) cannot be spread over {workers} worker(s) by "
            f"strategy {backend.strategy}, which has {spread}; leave workers out"
        )
    return workers


def known_name(blocks: Mapping[str, Any], name: str, where: str) -> str:
    """The name of one of these blocks. Raises `UserError` naming the key, `where`, for another."""
    if name not in blocks:
        near = meant(name, blocks)
        raise UserError(f"{where}: there is no {name!r}{near}; known are {', '.join(blocks)}")
    return name


def products(config: Config) -> dict[str, Backend]:
    """The backends by name whose products the block `matmul` asks for; `UserError` for an unknown name."""
    backends = [named_backend(config, name, "matmul.backends") for name in config.matmul.backends]
    return {backend.name: replace(backend, feed=BATCHES) for backend in backends}
