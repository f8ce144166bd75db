"""The interface of an engine: what a framework supplies to the one training loop."""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, cast

import numpy as np

from paragone.base import plugins
from paragone.base.engine_reports import Devices, FlopCount, Metrics, Modes, Programs
from paragone.base.errors import Unavailable, UserError, needing_packages
from paragone.base.processes import ignore_keras_settings
from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard
from paragone.models.weights import Weights

__path__ = plugins.extended(__path__, "engines")

# What frameworks read when they are imported. Python executes a package before its modules, so every
# import of an engine or of a module that opens devices comes later.
ignore_keras_settings()  # an engine of a plugin may import Keras itself
os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the numbers of NVML
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("PJRT_DEVICE", "CPU")  # without it torch_xla asks every plug-in for devices
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or no product is deterministic
os.environ.setdefault("TORCH_WARM_POOL", "0")  # no processes of torch.compile that a CPU never uses


@dataclass(frozen=True)
class Probe:
    """One forward and backward pass, for the parity gate: canonical names, float arrays.

    `unbiased`: of each running variance that is kept unbiased, n / (n - 1) for the n values that a channel
    had in this pass; others are biased.
    """

    logits: np.ndarray
    loss: float
    gradients: Weights
    unbiased: dict[str, float] = field(default_factory=dict)


class Engine(Protocol):
    """One framework under one strategy.

    A batch is (inputs, labels) or, in evaluation, (inputs, labels, weights): the host arrays of this
    process's shard. Every method that runs the device returns only when the device is done.
    """

    devices: Devices  # observed, valid after build
    device_names: list[str]
    shard: Shard

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """Put model and optimizer on the devices. Raises `Unavailable`.

        With several workers, each of them calls this and all other methods in the same order.
        """

    def weights(self) -> Weights:
        """The current weights in canonical layout."""

    def set_weights(self, weights: Weights) -> None:
        """Load canonical weights."""

    def snapshot(self) -> Any:
        """A copy in memory of weights, statistics and optimizer, for one `restore`.

        The random generator is no part of it: `train_epoch` starts it.
        """

    def restore(self, snapshot: Any) -> None:
        """Return to the state that `snapshot` has copied, to the last bit."""

    def warm_up(self, learning_rate: float, train_batch: tuple, test_batch: tuple) -> None:
        """Compile and run training and evaluation on one batch each; the state is unchanged.

        `learning_rate`: that of the first epoch, which a lazy device compiles as a constant.
        """

    def train_epoch(
        self, seed: int, learning_rate: float, batches: Iterable[tuple], steps: int
    ) -> Metrics:
        """Train one epoch; `seed` starts the framework's own generator. Metrics are those during training."""

    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        """Metrics over all batches, each example weighted."""

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Class probabilities, (examples, classes) float32."""

    def probe(self, batch: tuple) -> Probe:
        """Logits, loss and gradients in training mode; changes no trainable weight."""

    def count_flop(self, spec: Spec, dataset: Dataset) -> FlopCount:
        """The FLOP of one example, by the framework's own counter; changes no state and trains nothing."""

    def programs(self) -> Programs | None:
        """What was compiled for this process; None where the framework does not say."""

    def input_seconds(self) -> float | None:
        """How long the thread that trains was busy with drawing and copying batches in the last epoch, or
        waited for a loader's processes that draw them.

        None where the framework does it in threads of its own and does not say.
        """

    def modes(self) -> Modes:
        """What is in force after build."""

    def reset_peak_memory(self) -> None:
        """Let `peak_device_memory` count from now on, where the framework can."""

    def peak_device_memory(self) -> int | None:
        """The peak of allocated bytes of a device; None where the framework does not count them."""

    def out_of_memory(self, error: Exception) -> bool:
        """Whether this error means that the memory of a device or of the host is full."""

    def unsupported(self, error: Exception) -> bool:
        """Whether this error means that an operation has no kernel for what the run asks of it.

        A deterministic one, say: which operations lack it depends on the device.
        """

    def save(self, folder: Path) -> None:
        """Write the full state: weights and optimizer."""

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""


class InputClock:
    """How long the thread that trains was busy with drawing and copying batches; `seconds`: in the last pass.

    A device that computes meanwhile has waited for input no longer than this.
    """

    seconds = 0.0

    def over(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Pass the batches of one pass on."""
        self.seconds = 0.0
        batches = iter(batches)
        while True:
            begin = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - begin
            if batch is None:
                return
            yield batch


def warm_up(
    engine: Engine, learning_rate: float, train_batch: tuple, test_batch: tuple, steps: int = 2
) -> None:
    """`Engine.warm_up` by so many training steps."""
    before = engine.snapshot()
    engine.train_epoch(0, learning_rate, [train_batch] * steps, steps)
    engine.evaluate([test_batch], 1)
    engine.restore(before)


class _NotInstalled:
    """In the place of an engine whose framework is not installed."""

    def __init__(self, reason: Unavailable) -> None:
        self._reason = reason

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        raise self._reason


def create(spec: Spec) -> Engine:
    """Import the engine's framework and return it unbuilt; the import is the slow part.

    Without that framework `build` of what is returned raises `Unavailable`.
    """
    engine = spec.backend["engine"]
    try:
        with needing_packages():
            module = plugins.load("engines", engine)
    except Unavailable as reason:
        return cast(Engine, _NotInstalled(reason))
    if spec.backend["strategy"] not in module.STRATEGIES:
        raise UserError(
            f"backends.{spec.backend['name']}.strategy: engine {engine} has no "
            f"{spec.backend['strategy']!r}; it has {', '.join(module.STRATEGIES)}"
        )
    _check_methods(module)
    return module.ENGINE()


def _check_methods(module: Any) -> None:
    """A plugin's engine has all methods; the project's reference takes first steps and no more."""
    own = Path(module.__file__).is_relative_to(plugins.LIBRARY)
    methods = [name for name, value in vars(Engine).items() if isinstance(value, FunctionType)]
    wanted = [name for name in methods if not (own or name.startswith("_"))]
    if missing := [name for name in wanted if not hasattr(module.ENGINE, name)]:
        raise UserError(
            f"{module.__file__}: ENGINE has no {', '.join(missing)}; every engine has the methods of "
            f"`Engine` in {__file__}"
        )
