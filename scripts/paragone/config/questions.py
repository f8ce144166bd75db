"""What each experiment compares, whether it scales, and the order in which its runs are trained."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from random import Random
from typing import Any

from paragone.config.run_spec import Spec

STRONG, WEAK = "strong", "weak"
SIZE = ["replicas", "global_batch"]
# What the runs of a cell have in common; they differ by seed.
CELL = ["workload", "backend", *SIZE, "precision", "tuning"]
# Whatever else a cell is, it is compared with those that do the same work with the same tuning.
WORK = ["workload", "global_batch"]


def compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two cells are compared: they differ neither in work nor in tuning, or in tuning alone."""
    other = {key for key in CELL if first[key] != second[key]}
    return other == {"tuning"} or not other & {*WORK, "tuning"}


def cell(spec: Spec) -> tuple[tuple[str, Any], ...]:
    """The cell of a run: pairs of the keys of `CELL` and their values."""
    names = spec.workload.name, spec.backend.name
    values = *names, spec.replicas, spec.global_batch, spec.precision, spec.tuning_name
    return tuple(zip(CELL, values, strict=True))


def kind(sizes: Collection[tuple[int, int]]) -> str | None:
    """`strong` for one global batch, `weak` for one per-replica batch, None for neither.

    `sizes`: replicas and global batch of each run.
    """
    if len({batch for _, batch in sizes}) == 1:
        return STRONG
    return WEAK if len({batch // replicas for replicas, batch in sizes}) == 1 else None


def scales(specs: list[Spec]) -> bool:
    """Return whether runs train one workload in strong or weak scaling, as `kind` defines them."""
    sizes = [(spec.replicas, spec.global_batch) for spec in specs]
    return len({spec.workload.name for spec in specs}) == 1 and kind(sizes) is not None


def schedule(experiments: dict[str, list[Spec]], seed: int) -> dict[str, list[str]]:
    """The names of the runs of each experiment in the order in which they are trained, one experiment after
    the other, as they are given. A run of several experiments is trained with the first of them."""
    names = {
        name: [spec.name for spec in _drawn(specs, f"{seed} {name}")]
        for name, specs in experiments.items()
    }
    first = {run: name for name in reversed(names) for run in names[name]}
    return {name: [run for run in runs if first[run] == name] for name, runs in names.items()}


def _drawn(runs: list[Spec], key: str) -> Iterator[Spec]:
    """Repeat after repeat. Runs of one workload and global batch, which are compared, are neighbors; the
    order among them, and of these groups, is random in each repeat."""
    repeats: dict[int, dict[Hashable, list[Spec]]] = {}
    for spec in runs:
        compared = spec.workload.name, spec.global_batch
        repeats.setdefault(spec.seed, {}).setdefault(compared, []).append(spec)
    for repeat in sorted(repeats):
        random = Random(f"{key} {repeat}")
        groups = list(repeats[repeat].values())
        random.shuffle(groups)
        for group in groups:
            random.shuffle(group)
            yield from group
