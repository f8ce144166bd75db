"""What each experiment compares: its cells, and the pairs of them that did the same work."""

from itertools import groupby
from math import comb
from typing import Any

from paragone.config.run_spec import Spec


def questions(config: dict[str, Any], experiments: dict[str, list[Spec]]) -> list[dict[str, Any]]:
    """Per experiment: name, title, repeats, its cells (workload, backend, replicas, global batch,
    precision), and the number of comparisons of two cells of the same workload and global batch."""
    return [
        {
            "name": name,
            "title": config["experiments"][name]["title"],
            "repeats": len({spec.seed for spec in specs}),
            "cells": (cells := sorted({_cell(spec) for spec in specs})),
            "comparisons": sum(
                comb(len([*group]), 2) for _, group in groupby(sorted(cells, key=_work), key=_work)
            ),
        }
        for name, specs in experiments.items()
    ]


Cell = tuple[str, str, int, int, str]


def _cell(spec: Spec) -> Cell:
    return (
        spec.workload["name"],
        spec.backend["name"],
        spec.replicas,
        spec.batch["global"],
        spec.precision,
    )


def _work(cell: Cell) -> tuple[str, int]:
    return cell[0], cell[3]
