"""The config that makes the spread of papers: runs that differ by seed alone, of what is judged by it.

Standard library, YAML and msgspec only: the Snakefile imports this module at parse time.
"""

import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))

from paragone.base.errors import UserError
from paragone.config.papers import Paper, papers_of
from paragone.config.read import merged, read
from paragone.config.schema import Config

SEEDS = 20  # runs of each workload by default
FEWEST = 3  # `FEWEST_RUNS` of analysis/prediction.py, which imports pandas


def spread_config(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Paper]]:
    """The whole config of the main workflow, `config` and its defaults, and the paper of each experiment.

    An experiment has all workloads of which a paper states losses or accuracies, and those that explain
    them, on the backend `baseline`. `seeds` of the config: how many runs of each, `SEEDS` by default.
    Raises `UserError` where no number of a paper needs a spread, or `seeds` is no such number.
    """
    whole = merged(read(PROJECT / "config.yaml"), config)
    seeds = whole.pop("seeds", SEEDS)
    if not isinstance(seeds, int) or seeds < FEWEST:
        raise UserError(f"seeds: {seeds!r} is not a whole number of {FEWEST} or more")
    whole |= {"reduced": None, "experiments": {}}
    papers, _ = papers_of(whole, PROJECT)
    with_spread = {}
    for paper in papers:
        if rows := _rows(paper, whole["baseline"]):
            name = f"spread_{paper.name.replace('-', '_').lower()}"
            with_spread[name] = paper
            whole["experiments"][name] = {
                "title": f"Spread over seeds: {paper.name}",
                "workload": rows[0]["workload"],
                "repeats": seeds,
                "matrix": rows,
                "figures": [],
                "tables": ["spread"],
            }
    if not with_spread:
        raise UserError("papers: none states a loss or an accuracy that a spread could judge")
    whole |= {"only": [*with_spread]}
    whole["primary"] = {"experiment": next(iter(with_spread)), "metric": "speed"}
    return whole, with_spread


def _rows(paper: Paper, backend: str) -> list[dict[str, Any]]:
    """A row of a matrix for each workload with a published loss or accuracy, at the published batch.

    Numbers that the paper's experiments do not ask for, such as those of a GPU alone, have none.
    """
    batches: dict[str, set[int | None]] = {}
    for name, numbers in paper.published.items():
        for row in numbers.rows if name in paper.blocks["experiments"] else ():
            if row.is_outcome and row.workload:
                protocol = numbers.protocols.get(row.system)
                batch = protocol.batch_of(row) if protocol else None
                second = protocol.second_workload if protocol else ""
                for workload in filter(None, (row.workload, second)):
                    batches.setdefault(workload, set()).add(batch)
    rows = []
    for workload, sizes in batches.items():
        stated = sorted(size for size in sizes if size)
        if len(stated) > 1:
            raise UserError(
                f"{paper.folder}: {workload} has numbers at the batches {', '.join(map(str, stated))}, and "
                "spread.csv one protocol per workload; make a workload of each"
            )
        cell = {"workload": workload, "backend": backend, "replicas": 1}
        rows.append(cell | ({"global_batch": stated[0]} if stated else {}))
    return rows


def what_it_takes(config: Config) -> list[str]:
    """A sentence per workload on the runs that are trained."""
    return [
        f"{block.title}: {block.repeats} runs of {row.workload} on {row.backend}, "
        f"{config.workloads[row.workload].epochs} epochs each"
        for block in config.experiments.values()
        for row in block.matrix
    ]
