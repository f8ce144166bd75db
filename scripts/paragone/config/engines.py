"""Engines: what each can do, declared once and known without importing a framework.

A plugin declares its own in the table `engines` of a file `plugin.toml` in its folder, and its figures and
tables in `figures` and `tables`.
"""

import json
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.processes import MATTERING, tunes
from paragone.config.decode import content_of
from paragone.config.run_spec import MODEL, RESIDENT, Backend, Feed, Spec, Tuned
from paragone.config.schedules import defining
from paragone.tasks import KINDS, TaskName

# How a strategy spreads replicas over workers: one process drives all of them, each has a process of its own,
# or any number of processes that divides the replicas evenly.
ONE_WORKER, ONE_REPLICA_EACH = "one worker", "one replica each"
Spread = Literal["one worker", "one replica each", "several workers"]
# What batch norm normalizes together, and the running statistics that evaluate: the global batch; each
# replica's part, and the mean over replicas; each replica's part, and the statistics of the first replica.
WHOLE = "whole"
BatchNorm = Literal["whole", "mean", "first"]

FRAMEWORKS = ("tensorflow", "torch", "jax")
REFERENCE = "reference"  # the name of what the parity gate compares with
# The plain form of a framework, with which its other forms are compared where weights or updates are its own.
# PyTorch's is the engine `reference`.
PLAIN = {"tensorflow": "mirrored", "jax": "spmd"}

# How the names of files with initial weights end, which engines of a framework read.
STARTS = {
    "torch": (".safetensors", ".pt", ".pth", ".bin", ".ckpt"),
    "tensorflow": (".weights.h5",),
    "jax": (".safetensors", ".msgpack"),
}

# Steps of each run that are compared with the reference's: the second depends on the optimizer's state.
FIRST_STEPS = 2
DECLARATIONS = "plugin.toml"


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an engine can do.

    `strategies`: name -> how replicas are spread over workers. `feeds`: how batches can get to the devices.
    `tuned`: option of a backend's `tuned.options` -> what it does. `drives_all`: the program is partitioned
    over every device of its process and cannot use fewer. `tasks`: what it can learn.
    """

    strategies: dict[str, Spread]
    batch_norm: BatchNorm
    feeds: tuple[Feed, ...] = ("batches",)
    tuned: dict[str, str] = {}
    drives_all: bool = False
    tasks: tuple[TaskName, ...] = ("classification",)


class LeastInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least sides of images (height, width), or words of texts, that a model takes.

    any_size: its weights are the same for larger images, which the parity gate makes as small as that"""

    least: tuple[int, ...]
    any_size: bool = False

    def __post_init__(self) -> None:
        if self.any_size and len(self.least) != 2:
            raise ValueError("any_size is of images: least needs a height and a width")


class Exhibit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure or table: its label in the report, what it reads (keys of `Plan.reads`), and the values of its
    section, or else of the config, that it depends on."""

    label: str
    reads: tuple[str, ...]
    settings: tuple[str, ...] = ()


class Declarations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a `plugin.toml`, by the names of the modules."""

    engines: dict[str, Capabilities] = {}
    models: dict[str, LeastInput] = {}
    figures: dict[str, Exhibit] = {}
    tables: dict[str, Exhibit] = {}


_CUDA_FEEDS: tuple[Feed, ...] = ("batches", "pinned", "resident")
_FUSED = {"fused_optimizer": "all weights updated by one kernel (SGD, Adam)"}
_CUDNN = {"cudnn_benchmark": "convolution algorithms chosen by trial"}
_GRAPHS = {"cuda_graphs": "passes are CUDA graphs, whose kernels start without the host"}

ENGINES = {
    "tensorflow": Capabilities(
        {"mirrored": "one worker", "multiworker": "several workers", "tpu": "one worker"},
        batch_norm="mean",
    ),
    "torch": Capabilities(
        {"single": "one worker"}, batch_norm="whole", feeds=_CUDA_FEEDS, tuned=_FUSED | _CUDNN
    ),
    "torch_compile": Capabilities(
        {"single": "one worker"},
        batch_norm="whole",
        feeds=_CUDA_FEEDS,
        tuned=_FUSED | _GRAPHS,
    ),
    "torch_ddp": Capabilities(
        {"ddp": "one replica each"},
        batch_norm="first",
        feeds=_CUDA_FEEDS,
        tuned=_FUSED
        | _CUDNN
        | {
            "gradient_as_bucket_view": "gradients are views of what is reduced, and not copied",
            "static_graph": "the same weights are used in every step",
        },
    ),
    # No fused optimizer: SGD's fails on sharded weights in PyTorch 2.9.
    "torch_fsdp": Capabilities(
        {"fsdp": "one replica each"}, batch_norm="first", feeds=_CUDA_FEEDS, tuned=_CUDNN
    ),
    # A CPU has as many virtual devices as there are replicas.
    "torch_xla": Capabilities({"spmd": "one worker"}, batch_norm="whole", drives_all=True),
    "torch_xla_multiprocess": Capabilities({"multiprocess": "one replica each"}, batch_norm="mean"),
    "jax": Capabilities(
        {"spmd": "one worker", "multiprocess": "several workers"},
        batch_norm="whole",
        tuned={
            "compared_pools": "maxima of windows by comparisons, not by a window reduction",
            "steps_per_call": "steps in one compiled program, as many as batches are there",
        },
    ),
    # The parity gate's reference has a strategy for each kind of batch norm.
    "reference": Capabilities(
        {"whole": "one worker", "mean": "one worker", "first": "one worker"}, batch_norm="whole"
    ),
}

# The project's learn every task.
ENGINES = {name: replace(row, tasks=tuple(KINDS)) for name, row in ENGINES.items()}


def declared_by(folder: Path) -> Declarations:
    """What a plugin declares; nothing without a `plugin.toml`. Raises `UserError` for a wrong one."""
    file = folder / DECLARATIONS
    try:
        content = msgspec.toml.decode(file.read_bytes())
    except FileNotFoundError:
        return Declarations()
    except (OSError, ValueError) as error:  # not UTF-8, or not TOML
        raise UserError(f"{file}: cannot be read as TOML: {error}; correct it") from None
    return content_of(file, content, Declarations)


def engine_named(name: str) -> Capabilities:
    """What an engine of the project or a plugin can do. Raises `UserError` if none declares it."""
    engines = dict(ENGINES)
    for folder in plugins.folders():
        engines |= declared_by(folder).engines
    if name in engines:
        return engines[name]
    if file := plugins.file_of(f"engines/{name}.py"):
        raise UserError(
            f"{file}: add a table [engines.{name}] to {DECLARATIONS}; see docs/extending.md#an-engine"
        )
    raise UserError(f"there is no engine {name!r}; there are {', '.join(engines)}")


def least_input(model: str) -> LeastInput | None:
    """Return what a model takes at least; None where nothing says so."""
    models = [declared_by(folder).models.get(model) for folder in plugins.folders()]
    return next((row for row in models if row), None)


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
        backend=reference_of(run, split),
        replicas=replicas,
        workers=1,
        per_replica_batch=run.global_batch // replicas,
        epochs=run.epochs if run.workload.learning_rate.schedule else 1,  # its rates depend on them
        steps_per_epoch=min(steps, run.steps_per_epoch or steps),
        # Of what it costs; the steps themselves are in double precision.
        precision="float32" if run.precision == "float64" else run.precision,
    )


def framework_of(engine: str) -> str:
    """Return the framework whose models an engine trains; a plugin's engine is one of its own."""
    return next((name for name in FRAMEWORKS if engine.startswith(name)), engine)


def reference_of(run: Spec, split: str = WHOLE) -> Backend:
    """Return the backend that computes what a run must: by definitions that are written out in PyTorch.

    Where initial weights or the update are those of one other framework, it is its plain form.
    """
    framework, workload = framework_of(run.backend.engine), run.workload
    is_own = workload.initializer == MODEL or workload.framework_names
    if not is_own or framework == "torch":
        return Backend(REFERENCE, REFERENCE, split, "cpu")
    strategy = PLAIN.get(framework) or next(iter(engine_named(framework).strategies))
    return Backend(REFERENCE, framework, strategy, "cpu")


def is_here(engine: str) -> bool:
    """Return whether the project or a plugin has an engine."""
    return plugins.file_of(f"engines/{engine}.py") is not None


def check_backend(backend: Backend, tuned: Tuned | None) -> None:
    """Raise `UserError` naming the key for what the engine of a backend cannot do."""
    where = f"backends.{backend.name}"
    engine = engine_named(backend.engine)
    if backend.feed not in engine.feeds:
        raise UserError(
            f"{where}.feed: engine {backend.engine} has {', '.join(engine.feeds)} alone"
        )
    if backend.strategy not in engine.strategies:
        raise UserError(
            f"{where}.strategy: {json.dumps(backend.strategy)} is not one of "
            f"{', '.join(map(json.dumps, engine.strategies))}, which engine {backend.engine} has"
        )
    if tuned is None:
        return
    if tuned == Tuned():
        raise UserError(f"{where}.tuned: is empty; add variables or options, or leave it out")
    for option in tuned.options:
        if option not in engine.tuned:
            allowed = ", ".join(engine.tuned) or "none"
            raise UserError(
                f"{where}.tuned.options.{option}: engine {backend.engine} has {allowed}"
            )
    for variable in tuned.variables:
        if not tunes(variable):
            raise UserError(
                f"{where}.tuned.variables.{variable}: is not known to tune a process; names begin with "
                f"{', '.join(MATTERING)}"
            )


def check_workload(spec: Spec, where: str) -> None:
    """Raise `UserError` naming the key for what a backend cannot do of a workload, such as its task.

    `where`: the key that asks for both. What is drawn from records alone may name an engine that is not here.
    """
    backend, workload = spec.backend, spec.workload
    if is_here(backend.engine):
        engine = engine_named(backend.engine)
        if workload.task.name not in engine.tasks:
            raise UserError(
                f"{where}: backend {backend.name} learns {', '.join(engine.tasks)}, and workload "
                f"{workload.name} is {workload.task.name}; leave one of them out, or add the task to "
                "`tasks` of the engine"
            )
    framework = framework_of(backend.engine)
    for part, name in workload.framework_names.items():
        if defining(name) != framework and backend.engine != REFERENCE:
            raise UserError(
                f"{where}: backend {backend.name} lacks the {part} of workload {workload.name}, {name}, "
                f"which is {defining(name)}'s own; leave one of them out, or name one that all have, "
                "see docs/protocols.md"
            )
    if workload.start and not workload.start.file.endswith(STARTS.get(framework, ("",))):
        raise UserError(
            f"workloads.{workload.name}.start.file: {backend.name} starts from files that end with "
            f"{', '.join(STARTS[framework])}; convert {workload.start.file} to one of them"
        )
    if workload.augmentation and backend.feed == RESIDENT:
        raise UserError(
            f"backends.{backend.name}.feed: {RESIDENT} inputs are not augmented, and workload "
            f"{workload.name} has an augmentation ({where}); leave one of them out"
        )
