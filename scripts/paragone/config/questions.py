"""What each experiment compares: its cells, and the pairs of them that did the same work."""

from itertools import groupby
from math import comb
from typing import Any

from paragone.config.run_spec import Spec


def questions(config: dict[str, Any], experiments: dict[str, list[Spec]]) -> list[dict[str, Any]]:
    """Per experiment: name, title, repeats, its cells (workload, backend, replicas, global batch), and the
    number of comparisons of two cells of the same workload and global batch."""
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


def _cell(spec: Spec) -> tuple[str, str, int, int]:
    return spec.workload["name"], spec.backend["name"], spec.replicas, spec.batch["global"]


def _work(cell: tuple[str, str, int, int]) -> tuple[str, int]:
    return cell[0], cell[3]
