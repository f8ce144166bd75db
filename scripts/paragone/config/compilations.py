"""What the block `ahead_of_time` asks for: programs, targets, and which program is compiled for which.

A program is one step of a workload on a backend, over so many devices. Standard library only: the Snakefile
imports this module at parse time.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from paragone.base.canonical_json import canonical
from paragone.base.errors import UserError
from paragone.config.expand import BATCH_SIZES, replaced, spec_of
from paragone.config.run_spec import Spec, as_list

_SCRIPTS = Path(__file__).parents[2]
START = 64  # examples of each device in the first step of a search
_LISTS = ("backend", "target", *BATCH_SIZES, "step")  # keys of a row that may list several values


@dataclass(frozen=True)
class Program:
    """One step of a workload on a backend; `spec.replicas` are the devices that it is partitioned over.

    `step`: "train" (forward, loss, backward, optimizer, statistics) or "evaluate". `shape`: of one stored
    example. `classes`: how many. `vocabulary`: word indices of a data set of texts, None for images.
    """

    spec: Spec
    step: str
    shape: tuple[int, ...]
    classes: int
    vocabulary: int | None

    @classmethod
    def from_json(cls, text: str) -> "Program":
        """Read what `to_json` wrote; `UserError` if it is something else."""
        try:
            found = json.loads(text)
            spec, shape = Spec(**found["spec"]), tuple(found["shape"])
            return cls(spec, found["step"], shape, found["classes"], found["vocabulary"])
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"--program: not the description of a program: {error!r}") from error

    def to_json(self) -> str:
        """Canonical JSON; the program's identity is the hash of this text."""
        return canonical(asdict(self))

    @cached_property
    def name(self) -> str:
        """A file name that a person can read, made unique by the hash of the whole description."""
        digest = hashlib.sha256(self.to_json().encode()).hexdigest()[:8]
        spec = self.spec
        return (
            f"{spec.workload['name']}.{spec.backend['name']}.{self.step}.n{spec.replicas}"
            f".b{self.global_batch}.{digest}"
        )

    @property
    def global_batch(self) -> int:
        """Examples of one such step, over all devices."""
        return self.spec.global_batch if self.step == "train" else self.spec.evaluation_batch


@dataclass(frozen=True)
class Compilation:
    """One program compiled for one target."""

    program: Program
    target: str

    @property
    def name(self) -> str:
        """Of its record."""
        return f"{self.program.name}.{self.target}"


def compilations(config: dict[str, Any], study: str) -> tuple[list[Compilation], list[str]]:
    """What a study of the block `ahead_of_time` compiles; one sentence on each program that it leaves out.

    Raises `UserError` that names the key for an unknown workload, backend, target or data set.
    """
    found: dict[str, Compilation] = {}
    left_out: list[str] = []
    for at, row in enumerate(config["ahead_of_time"]["studies"][study]["programs"]):
        where = f"ahead_of_time.studies.{study}.programs[{at}]"
        for choice in _choices(config, row, where):
            target, batch = choice["target"], choice.get("global_batch", 0)
            devices = target_of(config, target, f"{where}.target")["devices"]
            if batch % devices:
                left_out.append(
                    f"{choice['workload']} on {choice['backend']} for {target}: "
                    f"{batch:,} examples do not divide over {devices:,} devices."
                )
                continue
            one = Compilation(_program(config, choice, devices, where), target)
            found.setdefault(one.name, one)
    return list(found.values()), left_out


def searches(config: dict[str, Any], study: str) -> list[Compilation]:
    """What a study searches the largest batch of: the program to begin with, and its target."""
    found: dict[str, Compilation] = {}
    for at, row in enumerate(config["ahead_of_time"]["studies"][study].get("largest_batch", [])):
        where = f"ahead_of_time.studies.{study}.largest_batch[{at}]"
        for choice in _choices(config, {**row, "per_replica_batch": START}, where):
            target = choice["target"]
            devices = target_of(config, target, f"{where}.target")["devices"]
            one = Compilation(_program(config, choice, devices, where), target)
            found.setdefault(one.name, one)
    return list(found.values())


def validations(config: dict[str, Any], study: str) -> list[Program]:
    """The programs of a study that are also run on the CPU of this machine; `UserError` as above."""
    found: dict[str, Program] = {}
    for at, row in enumerate(config["ahead_of_time"]["studies"][study].get("validation", [])):
        where = f"ahead_of_time.studies.{study}.validation[{at}]"
        for choice in _choices(config, row, where):
            one = _program(config, choice, choice.get("devices", 1), where)
            found.setdefault(one.name, one)
    return list(found.values())


def _choices(config: dict[str, Any], row: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """Every combination of the values that a row lists; batch and step are always among its keys."""
    for workload in as_list(row["workload"]):
        batch = _batch_of(config, workload, where)
        whole = replaced({"step": "train", **batch}, row, {"workload": workload})
        lists = {key: as_list(whole[key]) for key in _LISTS if key in whole}
        for values in product(*lists.values()):
            yield {**whole, **dict(zip(lists, values, strict=True))}


def _batch_of(config: dict[str, Any], workload: str, where: str) -> dict[str, int]:
    """The batch of a workload; `UserError` naming the key for an unknown workload."""
    if workload not in config["workloads"]:
        known = ", ".join(config["workloads"])
        raise UserError(f"{where}.workload: there is no {workload!r}; known are {known}")
    block = config["workloads"][workload]
    return {key: block[key] for key in BATCH_SIZES if key in block}


def exporter_of(engine: str) -> str:
    """The dotted name of the module that exports an engine's steps, not imported.

    Raises `UserError` where there is none.
    """
    name = f"paragone.ahead_of_time.exports.{engine}"
    if not _SCRIPTS.joinpath(*name.split(".")).with_suffix(".py").is_file():
        raise UserError(
            f"ahead_of_time: steps of engine {engine!r} cannot be exported; name a backend of engine "
            f"jax, torch_xla or tensorflow, or add scripts/paragone/ahead_of_time/exports/{engine}.py"
        )
    return name


def compiler_of(name: str) -> str:
    """The dotted name of a compiler's module, not imported."""
    return f"paragone.ahead_of_time.compilers.{name}"


def targets(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every target as `target_of` makes it, by name; `UserError` that names the key."""
    names = config["ahead_of_time"]["targets"]
    return {name: target_of(config, name, "ahead_of_time.targets") for name in names}


def target_of(config: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """A target with the documented peaks of its device; `UserError` that names the key.

    name, label, compiler, topology and devices; of one device flops (by precision, per second), memory and
    cache (bytes), memory_bandwidth and link_bandwidth (bytes per second), sources; per_chip, devices.
    """
    block = config["ahead_of_time"]
    if name not in block["targets"]:
        known = ", ".join(block["targets"])
        raise UserError(f"{where}: there is no {name!r}; known are {known}")
    target = block["targets"][name]
    if target["device"] not in block["devices"]:
        known = ", ".join(block["devices"])
        raise UserError(
            f"ahead_of_time.targets.{name}.device: no documented peaks of {target['device']!r} in "
            f"ahead_of_time.devices; add them, or name one of {known}"
        )
    usual = {"cache": 0, "per_chip": 1}
    return {"name": name, **usual, **block["devices"][target["device"]], **target}


def _program(config: dict[str, Any], choice: dict[str, Any], devices: int, where: str) -> Program:
    # The target is no part of a program, which is exported once for all of them. In a row of a matrix the
    # same key is the accuracy that a run shall reach.
    row = {key: value for key, value in choice.items() if key != "target"}
    spec = spec_of(config, {**row, "replicas": devices}, where, config["seed"])
    exporter_of(spec.backend["engine"])
    workload = spec.workload | {"model": spec.workload["model"] | choice.get("model", {})}
    spec = replace(spec, workload=workload)
    dataset = workload["dataset"]
    shapes = config["ahead_of_time"]["examples"]
    if dataset not in shapes:
        raise UserError(
            f"ahead_of_time.examples: nothing about {dataset!r}; add its shape and classes"
        )
    about = shapes[dataset]
    vocabulary = about.get("vocabulary")
    return Program(spec, choice["step"], tuple(about["shape"]), about["classes"], vocabulary)
