"""The protocol of an engine: the methods that a framework supplies to the one training loop."""

import inspect
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

import numpy as np

from paragone.base import atomic_files, plugins
from paragone.base.engine_reports import ALONE, Devices, Metrics, Modes, Programs, World
from paragone.base.errors import (
    Unavailable,
    UserError,
    first_line,
    needing_packages,
    says_memory_is_full,
)
from paragone.base.processes import given, ignore_keras_settings, private_folder
from paragone.config.engines import check_backend
from paragone.config.run_spec import MODEL, Initializer, Options, Spec, Workload
from paragone.config.schedules import OWN
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.machine.process_entry import software
from paragone.models import signature_of
from paragone.models.start import checked, placed
from paragone.models.weights import Entries, Pretrained, Weights, bare, starting

__path__ = plugins.extended(__path__, "engines")

# Frameworks read these variables when they are imported. Python executes a package before its modules, so
# this code runs before any engine and any module that opens devices.
ignore_keras_settings()  # an engine in a plugin may import Keras without paragone.base.tensorflow
for _name, _value in given().items():  # a worker has them; not so a process started in another way
    os.environ.setdefault(_name, _value)

_keeping = False


def keep_programs() -> None:
    """Let this process keep what it compiles or finds out for that, and take what others have kept.

    For processes whose start nobody compares, of contests and of the parity gate. A run does what it would do
    in a user's own program: compiled PyTorch keeps programs, JAX does not.
    """
    global _keeping
    _keeping = True


def kept_programs(*versions: str) -> Path | None:
    """Return the folder of programs for these versions, this CPU and its number of cores; or None.

    It is in the folder for temporary files, as inductor's: no other machine sees it. Raises `UserError` if it
    is another user's, whose programs would be executed.
    """
    if not _keeping:
        return None
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    cores = len(os.sched_getaffinity(0))
    key = atomic_files.sha256_of({"versions": versions, "cpu": cpu, "cores": cores})
    folder = private_folder() / "programs" / key[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Probe:
    """One forward and backward pass, for the parity gate: arrays by canonical name, of floats.

    `unbiased`: whether the running variances that the framework keeps are.
    """

    logits: np.ndarray
    loss: float
    gradients: Weights
    unbiased: bool = False


class Reports(Protocol):
    """What an engine reports of its framework, and how it warms up.

    An engine that inherits from this class overrides the methods whose values its framework reports.
    `library`: the module of a framework's models, which knows a `model` of the project's engines. `update`:
    the framework's own optimizer with its arguments, where the workload names one.
    """

    library: Any = None
    update: str = ""
    model: Any
    workload: Workload
    warm_up_steps: int = 2

    def warm_up(
        self: "Engine", learning_rate: float, train_batch: tuple, test_batch: tuple
    ) -> None:
        """Compile and run training and evaluation on one batch each, without changing the state.

        `learning_rate`: of the first step.
        """
        before, steps = self.snapshot(), self.warm_up_steps
        self.train_epoch(0, [learning_rate] * steps, [train_batch] * steps, steps)
        self.evaluate([test_batch], 1)
        self.restore(before)

    def programs(self) -> Programs | None:
        """Return the number of programs compiled for this process; None if it is not reported."""
        return None

    def reset_peak_memory(self) -> None:
        """Restart the count of `peak_device_memory`, if the framework can."""
        return

    def peak_device_memory(self) -> int | None:
        """Return the peak of allocated bytes of a device; None if the framework does not count them."""
        return None

    def outputs(self, inputs: np.ndarray, trains: bool = True) -> Any:
        """Return what the model returns for stored examples, in training or not; an array is on the host.

        It changes no state. None if that is not reported.
        """
        return None

    def dropout_off(self) -> bool:
        """Switch off dropout for good, before the first step; return whether there was any."""
        return bool(self.library and self.library.dropout_off(self.model))

    def read_start(self, path: Path, names: Collection[str]) -> tuple[Weights, list[str]]:
        """Return the arrays of a file by the names of the model's, `names`, and notices; see `Start`.

        Raises `UserError` for a file that cannot be read, or has none of the model's arrays.
        """
        if self.library is None:
            raise Unavailable(f"{path}: this engine starts from no file")
        return self.library.read_start(path, self.model)

    def entries(self) -> Entries:
        """Return the arrays that `weights` copies, by canonical name; none if that is not reported."""
        if self.library is None:
            return ()
        if self.workload.initializer == MODEL:
            return self.library.native_entries(self.model)
        return self.library.canonical_entries(self.model, self.workload.pairs)

    def out_of_memory(self, error: Exception) -> bool:
        """Return whether the error means that the memory of a device or of the host is full."""
        return isinstance(error, RuntimeError) and says_memory_is_full(str(error))

    def unsupported(self, error: Exception) -> bool:
        """Return whether the error means that an operation lacks a kernel, such as a deterministic one."""
        return False


class Engine(Reports, Protocol):
    """One framework under one strategy.

    A batch is (inputs, labels) in training and (inputs, labels, weights) in evaluation: host arrays of this
    process's shard, (local batch, ...) the first two and (local batch,) float32 the last. Labels are classes,
    int32, or numbers, float32. The last training batch of an epoch may have fewer examples, and metrics are
    means over examples. Every method that runs the device returns only when the device is done.
    """

    devices: Devices  # as observed; valid after `build`
    device_names: list[str]
    shard: Shard

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """Open the devices and create model and optimizer. Raises `Unavailable` if that is impossible.

        `threads`: of this process. With several workers, each calls this and all other methods in the same
        order.
        """

    def weights(self) -> Weights:
        """Return a copy of the current weights in canonical layout."""

    def set_weights(self, weights: Weights) -> None:
        """Load canonical weights."""

    def snapshot(self) -> Any:
        """Return a copy in memory of weights, statistics and optimizer state, for a single `restore`.

        It leaves out the random generator, which `train_epoch` seeds.
        """

    def restore(self, snapshot: Any) -> None:
        """Return to the state of `snapshot`, to the last bit."""

    def train_epoch(
        self, seed: int, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        """Train one epoch; return the metrics during training.

        `seed`: of the framework's generator. `learning_rates`: of each step.
        """

    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        """Return loss and score over all batches, with weighted examples."""

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return class probabilities, (examples, classes) float32, of a task with one class per example."""

    def probe(self, batch: tuple) -> Probe:
        """Return logits, loss and gradients of a batch in training mode. Changes no trainable weight."""

    def updates(self) -> int:
        """Return the optimizer's count of updates so far, which `restore` may set back."""

    def modes(self) -> Modes:
        """Return math mode, determinism and collectives in force after `build`."""

    def save(self, folder: Path) -> None:
        """Write the full state, weights and optimizer, to a folder."""

    def load(self, folder: Path) -> None:
        """Restore the state that `save` wrote."""


def framework_optimizer(
    spec: Spec, *given: Any, wrap: Any = None, **offered: Any
) -> tuple[Any, str]:
    """Create the framework's own optimizer that a workload names; also return its call as a text.

    `given`: its first arguments; `offered`: others, for which it may have no use. `wrap`: of the class or
    function before it is called. Raises `UserError` for a name that the framework lacks, and for an
    argument that the optimizer does not take.
    """
    where, block = f"workloads.{spec.workload.name}.optimizer", spec.workload.optimizer
    kind, rate, arguments, call = _of_framework(where, block, **offered)
    first = {rate: learning_rates(spec, 1, 1)[0]}
    try:
        optimizer = (wrap(kind) if wrap else kind)(*given, **first, **arguments)
    except Exception as error:
        raise UserError(f"{where}: {block['name']}: {first_line(error)}; correct it") from error
    return optimizer, call


def _of_framework(where: str, block: Options, **offered: Any) -> tuple[Any, str, Options, str]:
    """Return the optimizer or schedule that a framework has under the name of the block at `where`.

    Then what its rate is called, its arguments, and its call with all defaults as a text.
    """
    name, what = block["name"], where.rpartition(".")[2]
    begin = next(filter(name.startswith, OWN))
    kind: Any = import_module(begin.rstrip("."))
    for part in name.removeprefix(begin).split("."):
        kind = getattr(kind, part, None)
    parameters = signature_of(kind).parameters if callable(kind) else {}
    rate = next((key for key in ("lr", "learning_rate") if key in parameters), "")
    if not (rate if what == "optimizer" else parameters):
        raise UserError(f"{where}.name: there is no {what} {name} here; correct it")
    reserved = (rate, "name", "params", "kwargs", "optimizer", "last_epoch")
    takes = {key: value.default for key, value in parameters.items() if key not in reserved}
    for key in block.keys() - {"name"} - takes.keys():
        beside = ", and its rate is that of `learning_rate`" if rate else ""
        raise UserError(
            f"{where}.{key}: {name} takes {', '.join(takes)}{beside}; correct it, or leave it out"
        )
    step = signature_of(kind.step).parameters if hasattr(kind, "step") else {}
    if "closure" in step and step["closure"].default is inspect.Parameter.empty:
        raise UserError(
            f"{where}.name: {name} computes the loss several times in a step, which the loop does once; name "
            f"another {what}"
        )
    arguments = {key: value for key, value in (offered | block).items() if key in takes}
    said = (f"{k}={value!r}" for k, value in (takes | arguments).items() if value is not None)
    return kind, rate, arguments, f"{name}({', '.join(said)})"


# By framework's own schedule the rates of units so far, and those that follow.
_rates: dict[str, tuple[list[float], Iterator[float]]] = {}


def learning_rates(spec: Spec, epoch: int, steps: int) -> list[float]:
    """Return the rate of each step of an epoch (from 1) of so many, also by a framework's own schedule.

    Raises `UserError` for a schedule that the framework lacks, or that needs or changes more than the rate.
    """
    rate = spec.workload.learning_rate
    if not rate.of_framework:
        return spec.learning_rates(epoch, steps)
    base = 0.0 if rate.absolute else spec.learning_rates(1, 1)[0]
    where = f"workloads.{spec.workload.name}.learning_rate.schedule"
    kind, _, arguments, _ = _of_framework(where, rate.schedule)
    key = f"{rate.to_json()} {base} {spec.precision}"
    rates, following = _rates.setdefault(key, ([], _of_units(kind, arguments, base)))
    first, last = ((epoch - 1) * steps, epoch * steps) if rate.by_step else (epoch - 1, epoch)
    try:
        rates += islice(following, max(0, last - len(rates)))
    except Exception as error:
        del _rates[key]
        fault = f"{where}: {rate.of_framework}: {first_line(error)}"
        raise UserError(f"{fault}; correct it: it may change nothing but the rate") from error
    return rates[first:last] * (1 if rate.by_step else steps)


def _of_units(kind: Any, arguments: Options, base: float) -> Iterator[float]:
    """Yield the rate of each unit. PyTorch's schedules change a base; those of others are functions."""
    if not base:
        yield from map(float, map(kind(**arguments), count()))
    torch = import_module("torch")
    # Adadelta has no momentum: a schedule that would change one, too, is an error.
    optimizer = torch.optim.Adadelta([torch.zeros(1)], lr=base)
    scheduler = kind(optimizer, **arguments)
    while True:
        yield float(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()


def schedule_call(spec: Spec) -> str:
    """Return the call of the framework's own schedule with all its arguments; nothing where it has none."""
    where = f"workloads.{spec.workload.name}.learning_rate.schedule"
    rate = spec.workload.learning_rate
    return _of_framework(where, rate.schedule)[3] if rate.of_framework else ""


def begin(
    engine: Any, spec: Spec, pretrained: Pretrained | None
) -> tuple[Weights, Initializer, list[str]]:
    """Give an engine that was built its initial weights; return them, their initializer, and notices.

    Raises `UserError` for a file, or published weights, that do not fit the model.
    """
    fresh, notices = engine.weights(), []
    if spec.workload.start:
        path = checked(spec.workload.start)
        arrays, notices = engine.read_start(path, [*map(bare, fresh)])
        fresh, beside = placed(fresh, arrays, path)
        notices = [*notices, *beside]
    weights, initializer = starting(fresh, spec, pretrained)
    engine.set_weights(weights)
    return weights, initializer, notices


def create(spec: Spec) -> Engine:
    """Import the engine's framework, which is slow, and return the engine unbuilt.

    If the framework is not installed, or not in the versions asked for, `build` of the returned engine raises
    `Unavailable`. Raises `UserError` for what the engine cannot do, and for a plugin's engine that lacks a
    method.
    """
    engine, versions = spec.backend.engine, spec.backend.versions or {}
    try:
        with needing_packages():
            if versions and (differing := spec.backend.differing(software(versions))):
                raise Unavailable("; ".join(" ".join(pair) for pair in differing.items()))
            module = plugins.load("engines", engine, "ENGINE")
    except Unavailable as error:
        reason = error

        def build(*_: object, **__: object) -> None:
            raise reason

        return cast(Engine, SimpleNamespace(build=build))
    # Of the project's own, the reference has only some methods.
    if not Path(module.__file__).is_relative_to(plugins.LIBRARY):
        methods = [name for name, _ in inspect.getmembers(Engine, inspect.isfunction)]
        public = [name for name in methods if not name.startswith("_")]
        if missing := [name for name in public if not hasattr(module.ENGINE, name)]:
            raise UserError(
                f"{module.__file__}: ENGINE has no {', '.join(missing)}; every engine has the methods of "
                f"`Engine` in {__file__}"
            )
    check_backend(spec.backend, None)
    return module.ENGINE()
