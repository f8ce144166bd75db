"""What a config asks for, derived from it: the numbers that tests compare with jobs, files and rows.

tests/pipeline/test_dag.py holds the one count made by hand.
"""

import copy
from collections import Counter
from functools import cached_property
from typing import Any

from snakemake.utils import update_config
from workspace import CONFIG, preset

from paragone.config.expand import expand, first_steps
from paragone.config.run_spec import Spec

# Blocks of the config that are no experiments and have figures and tables: their folders.
MEASUREMENTS = {
    "matmul": "device_matmul",
    "accelerator_reference": "accelerator_reference",
}


class Plan:
    """The runs, measurements, figures and tables of the default config under some presets."""

    def __init__(self, *presets: str, config: dict[str, Any] | None = None) -> None:
        self.config = copy.deepcopy(config or CONFIG)
        for name in presets:
            update_config(self.config, preset(name))

    @cached_property
    def experiments(self) -> dict[str, list[Spec]]:
        """The runs of each experiment."""
        return {name: expand(self.config, name) for name in self.config["experiments"]}

    @cached_property
    def runs(self) -> dict[str, Spec]:
        """Every run once, by name."""
        return {spec.name: spec for specs in self.experiments.values() for spec in specs}

    @property
    def workloads(self) -> list[str]:
        """The workloads that are trained."""
        return sorted({spec.workload["name"] for spec in self.runs.values()})

    @property
    def backends(self) -> list[str]:
        """The backends that train."""
        return sorted({spec.backend["name"] for spec in self.runs.values()})

    @property
    def unavailable(self) -> list[Spec]:
        """The runs on devices that no machine of the tests has."""
        return [spec for spec in self.runs.values() if spec.backend["device"] != "cpu"]

    @property
    def first_steps(self) -> list[Spec]:
        """What the reference computes of the first steps of runs."""
        found = (first_steps(spec) for spec in self.runs.values())
        return list({spec.name: spec for spec in found if spec}.values())

    def trained_by(self, engine: str) -> list[Spec]:
        """The runs of all backends of an engine."""
        return [spec for spec in self.runs.values() if spec.backend["engine"] == engine]

    def shown(self, kind: str) -> list[tuple[str, str]]:
        """(folder, name) of every figure or table that the config declares; kind: figures, tables."""
        blocks = dict(self.config["experiments"])
        blocks |= {folder: self.config[key] for key, folder in MEASUREMENTS.items()}
        return [(folder, name) for folder, block in blocks.items() for name in block[kind]]

    def drawn(self) -> Counter:
        """Jobs of each rule that draws."""
        return Counter(f"plot_{name}" for _, name in self.shown("figures"))

    def jobs(self) -> dict[str, int]:
        """Jobs of each rule when nothing is there yet."""
        datasets = {spec.workload["dataset"] for spec in self.runs.values()}
        pretrained = {
            spec.workload["model"]["name"]
            for spec in self.runs.values()
            if spec.workload["initializer"] == "imagenet"
        }
        return {
            "all": 1,
            "fetch": len(datasets),
            "serialize": len(datasets),
            "pretrained": len(pretrained),
            **{f"probe_{name}": 1 for name in ("reference", *self.backends)},
            "first_steps": len(self.first_steps),
            "train": len(self.runs),
            "measure_products": len(self.config["matmul"]["backends"]),
            "check_parity": len(self.workloads),
            "collect": len(self.experiments),
            "join": 1,
            "answers": 1,
            "page": 1,
            "collect_products": 1,
            **self.drawn(),
            **Counter(f"tabulate_{name}" for _, name in self.shown("tables")),
        }
