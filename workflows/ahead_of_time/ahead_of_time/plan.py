"""What the block `ahead_of_time` of the config asks for: steps, targets, and which is compiled for which.

No framework and no numpy: the Snakefile imports this module at parse time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ahead_of_time.records import Example, Target
from paragone.base.errors import UserError
from paragone.base.typed_json import Part
from paragone.config.decode import decoded
from paragone.config.expand import spec_of
from paragone.config.run_spec import Spec, as_list
from paragone.config.schema import Config, MatrixRow
from paragone.config.validate import validate

EXPORTS = Path(__file__).parent / "exports"
BATCHES = ("global_batch", "per_replica_batch")


class Row(Part, frozen=True, kw_only=True):
    """Steps of a workload: every combination of the backends, batch sizes and targets that it lists.

    A batch is given over all devices or per replica; without either it is the workload's. `model`: options
    of the workload's model to replace. What is measured has no target. `experiment` and `system`: whose
    published times the bounds are held against.
    """

    workload: str
    backend: str | list[str]
    target: str | list[str] = msgspec.field(default_factory=list)
    global_batch: int | list[int] = msgspec.field(default_factory=list)
    per_replica_batch: int | list[int] = msgspec.field(default_factory=list)
    model: dict[str, Any] = msgspec.field(default_factory=dict)
    experiment: str = ""
    system: str = ""


class Block(Part, frozen=True):
    """The block `ahead_of_time` of the config. `examples`: by data set."""

    title: str
    examples: dict[str, Example]
    devices: list[Any]  # that the targets refer to, by aliases
    targets: dict[str, Target]
    published: list[Row]
    scaling: list[Row]
    measured: list[Row]


@dataclass(frozen=True)
class Plan:
    """`steps`: specifications by name. `published`, `scaling`: names of steps and of their targets.
    `measured`: names of steps."""

    block: Block
    steps: dict[str, Spec] = field(default_factory=dict)
    published: list[tuple[str, str]] = field(default_factory=list)
    scaling: list[tuple[str, str]] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)

    def example(self, step: str) -> Example:
        """The shape of the examples of a step."""
        return self.block.examples[self.steps[step].workload.dataset]

    @property
    def systems(self) -> list[tuple[str, str, str]]:
        """Each experiment and system with published times, and the label of the target that the system is."""
        return [
            (row.experiment, row.system, self.block.targets[target].label)
            for row in self.block.published
            for target in as_list(row.target)
        ]


def plan_of(config: dict[str, Any]) -> Plan:
    """The plan that a config asks for.

    Raises `UserError` that names the key for an unknown workload, backend, target, data set or key, and for
    a batch that does not divide over the devices.
    """
    plan = Plan(decoded(config["ahead_of_time"], Block, "ahead_of_time"))
    main = validate({key: value for key, value in config.items() if key != "ahead_of_time"})
    for kind, pairs in (("published", plan.published), ("scaling", plan.scaling)):
        for at, row in enumerate(getattr(plan.block, kind)):
            where = f"ahead_of_time.{kind}[{at}]"
            for target in as_list(row.target):
                if target not in plan.block.targets:
                    targets = ", ".join(plan.block.targets)
                    raise UserError(f"{where}.target: there is no {target!r}; known are {targets}")
                for spec in _specs(main, row, plan.block.targets[target].devices, where):
                    plan.steps[spec.name] = spec
                    pairs.append((spec.name, target))
    for at, row in enumerate(plan.block.measured):
        for spec in _specs(main, row, 1, f"ahead_of_time.measured[{at}]"):
            plan.steps[spec.name] = spec
            plan.measured.append(spec.name)
    for spec in plan.steps.values():
        if (dataset := spec.workload.dataset) not in plan.block.examples:
            raise UserError(f"ahead_of_time.examples: there is no {dataset!r}; add its shape")
    return plan


def _specs(config: Config, row: Row, devices: int, where: str) -> Iterator[Spec]:
    """The steps of a row over so many devices."""
    batches = [{key: size} for key in BATCHES for size in as_list(getattr(row, key))] or [{}]
    for backend, batch in product(as_list(row.backend), batches):
        cell = MatrixRow(backend=backend, replicas=devices, **batch)
        spec = spec_of(config, row.workload, cell, where)
        exporter_of(spec.backend.engine)
        yield replace(spec, workload=spec.workload.with_model(**row.model))


def exporter_of(engine: str) -> str:
    """The dotted name of the module that exports an engine's step, not imported.

    Raises `UserError` where there is none.
    """
    if not (EXPORTS / f"{engine}.py").is_file():
        engines = ", ".join(sorted(path.stem for path in EXPORTS.glob("[a-z]*.py")))
        raise UserError(
            f"ahead_of_time: steps of engine {engine!r} cannot be exported; name a backend of {engines}"
        )
    return f"ahead_of_time.exports.{engine}"
