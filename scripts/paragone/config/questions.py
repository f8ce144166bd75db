"""What each experiment compares: its cells, and the pairs of them that did the same work.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from paragone.config.run_spec import Spec

# What the runs of a cell have in common; they differ by seed.
CELL = ["workload", "backend", "replicas", "global_batch", "precision", "tuning"]
# Whatever else a cell is, it is compared with those that do the same work with the same tuning.
_WORK = {"workload", "global_batch"}


def questions(config: dict[str, Any], experiments: dict[str, list[Spec]]) -> list[dict[str, Any]]:
    """Per experiment: name, title, repeats, its cells, and the number of pairs of them to compare."""
    return [
        {
            "name": name,
            "title": config["experiments"][name]["title"],
            "repeats": len({spec.seed for spec in specs}),
            "cells": (cells := [dict(one) for one in sorted({cell(spec) for spec in specs})]),
            "comparisons": sum(compared(*pair) for pair in combinations(cells, 2)),
        }
        for name, specs in experiments.items()
    ]


def compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two cells are: same work and tuning, or the same but for their tuning."""
    other = {key for key in CELL if first[key] != second[key]}
    return other == {"tuning"} or not other & (_WORK | {"tuning"})


def cell(spec: Spec) -> tuple[tuple[str, Any], ...]:
    """The cell of a run: pairs of the keys of `CELL` and their values."""
    values = {
        "workload": spec.workload["name"],
        "backend": spec.backend["name"],
        "replicas": spec.replicas,
        "global_batch": spec.global_batch,
        "precision": spec.precision,
        "tuning": spec.tuning_name,
    }
    return tuple((key, values[key]) for key in CELL)
