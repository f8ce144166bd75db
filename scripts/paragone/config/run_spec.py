"""The specification of a run: everything that decides its result, and its identity.

Standard library only: the Snakefile imports this module at parse time.
"""

import hashlib
import re
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from paragone.base.digests import canonical
from paragone.base.engine_reports import Devices
from paragone.base.errors import UserError

EVALUATION_BATCH = 256
BATCHES, RESIDENT = (
    "batches",
    "resident",
)  # feeds: each batch is copied; rows of inputs that are there
ARRAYS = "arrays"  # in tables, in the place of a loader: batches are read from the mapped arrays
AS_INSTALLED, TUNED = "as-installed", "tuned"
Count = Annotated[int, Meta(ge=0, lt=2**53)]


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One cell of an experiment's matrix at one repeat.

    `workload`: the validated `workloads` block without its batch size and schedule length, plus its name.
    `backend`: name, engine, strategy and device; `feed` and `loader` where they are not the usual ones.
    `workers`: processes, each with as many of the replicas. `global_batch`, `per_replica_batch`: examples of
    a step over all replicas and of each. `steps_per_epoch`: None for all whole batches of the training split.
    `precision`: of weights and arithmetic, "float32" or "float64"; or "bfloat16", of the layers' arithmetic,
    with all else in float32 (mixed precision). `tuning`: the backend's `tuned` block, `variables` and
    `options`; empty as installed.
    """

    workload: dict[str, Any]
    backend: dict[str, str]
    replicas: Count
    workers: Count
    global_batch: Count
    per_replica_batch: Count
    epochs: Count
    steps_per_epoch: Count | None
    precision: str
    seed: Count
    deterministic: bool
    tuning: dict[str, dict[str, Any]]

    def __post_init__(self) -> None:
        """Raise `ValueError` for a workload or a backend that lacks a name that the run is identified by."""
        model = self.workload.get("model")
        for place, value in (
            *(
                (f"workload.{key}", self.workload.get(key))
                for key in ("name", "dataset", "initializer")
            ),
            ("workload.model.name", model.get("name") if isinstance(model, dict) else None),
            *(
                (f"backend.{key}", self.backend.get(key))
                for key in ("name", "engine", "strategy", "device")
            ),
        ):
            if not isinstance(value, str):
                raise ValueError(f"{place}: {value!r} is not a text")

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """Read what `to_json` wrote; `UserError` if it is something else."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise UserError(f"--spec: not the specification of a run: {error}") from error

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces. The run's identity is the hash of this text."""
        return canonical(msgspec.to_builtins(self))

    @cached_property
    def sha256(self) -> str:
        """Hash of the whole specification: the run's identity."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def name(self) -> str:
        """A file name that a person can read, made unique by the hash of the whole specification."""
        return (
            f"{self.workload['name']}.{self.backend['name']}.r{self.replicas}"
            f".b{self.global_batch}.s{self.seed}.{self.sha256[:8]}"
        )

    def steps(self, examples: int) -> int:
        """Steps of one epoch over `examples` training examples; `UserError` if there are too few."""
        whole = examples // self.global_batch
        steps = self.steps_per_epoch or whole
        if not 0 < steps <= whole:
            raise UserError(
                f"workloads.{self.workload['name']}: {steps or 'a'} step(s) of "
                f"{self.global_batch} examples do not fit into {examples} training examples; "
                "lower the batch size or steps_per_epoch"
            )
        return steps

    @property
    def feed(self) -> str:
        """How batches get to the device: "batches", "pinned" or "resident"."""
        return self.backend.get("feed", BATCHES)

    @property
    def loader(self) -> str | None:
        """The loader that makes the training batches; None where they are read from the mapped arrays."""
        return self.backend.get("loader")

    @property
    def tuning_name(self) -> str:
        """`as-installed`, what a user gets from the packages, or `tuned`."""
        return TUNED if self.tuning else AS_INSTALLED

    def tuned(self, option: str) -> Any:
        """The value of one of the options that the engine declares; None as installed."""
        return self.tuning.get("options", {}).get(option)

    @property
    def mixed(self) -> bool:
        """Whether layers compute in another precision than weights, statistics, loss and optimizer."""
        return self.precision == "bfloat16"

    @property
    def weights_precision(self) -> str:
        """Of weights, statistics, loss and optimizer."""
        return "float32" if self.mixed else self.precision

    @property
    def evaluation_batch(self) -> int:
        """Examples of one evaluation step over all replicas: the global batch, or about 256 if more.

        The training batch is what an experiment varies; small evaluation batches would only take longer.
        """
        return max(self.global_batch, EVALUATION_BATCH // self.replicas * self.replicas)

    def learning_rate(self, epoch: int) -> float:
        """Learning rate of an epoch (from 1).

        base x global batch / per_batch (linear scaling; Goyal et al., arXiv:1706.02677) if `per_batch`
        is given, times the factor of the last entry of `decay` whose `after` epochs have passed.
        """
        schedule = self.workload["learning_rate"]
        scale = self.global_batch / schedule["per_batch"] if "per_batch" in schedule else 1
        passed = [step["factor"] for step in schedule.get("decay", []) if epoch > step["after"]]
        return schedule["base"] * scale * (passed[-1] if passed else 1)


def requested(spec: Spec) -> Devices:
    """The devices that a run asks for."""
    return Devices(spec.backend["device"], spec.replicas, spec.workers)


def cell_of(name: str) -> dict[str, Any]:
    """The parts of `Spec.name`: workload, backend, replicas, global_batch, seed.

    Raises `UserError` if it is not the name of a run.
    """
    found = re.fullmatch(
        r"(?P<workload>[^.]+)\.(?P<backend>[^.]+)\.r(?P<replicas>\d+)\.b(?P<global_batch>\d+)"
        r"\.s(?P<seed>\d+)\.[0-9a-f]{8}",
        name,
    )
    if found is None:
        raise UserError(f"{name}: not the name of a run; delete the folder of that name")
    return {key: int(text) if text.isdigit() else text for key, text in found.groupdict().items()}


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return value if isinstance(value, list) else [value]
