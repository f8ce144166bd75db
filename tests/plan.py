"""What a config asks for: the project's own plan, and the jobs of each rule that follow from it."""

import copy
import os
from typing import Any

from snakemake.utils import update_config
from workspace import DEFAULTS, ROOT, preset

from paragone.config.run_spec import Spec
from paragone.plan import plan

# The rules that measure; what else a call does is tabulated, drawn and compared.
GATE = ("probe", "first_steps")
MEASURING = ("fetch", "serialize", "pretrained", "train", "contests", "measure_products", *GATE)

# What `make test` runs of the smoke preset, by tests/run.sh: the primary question, and two of papers.
SMOKE: dict[str, Any] = {}
if os.environ.get("PARAGONE_SMOKE") == "short":
    SMOKE = {"only": ["one_device", "tpu_fashion_conv", "reuters_strategies"]}

ONCE = ("all", "join", "answers", "page", "collect_products")


def measured(jobs: dict[str, int]) -> dict[str, int]:
    """The jobs of the rules that measure."""
    return {name: count for name, count in jobs.items() if name in MEASURING}


class Plan(plan.Plan):
    """The plan of the default config under some presets."""

    def __init__(self, *presets: str, config: dict[str, Any] | None = None) -> None:
        whole = copy.deepcopy(config or DEFAULTS)
        for name in presets:
            update_config(whole, preset(name))
        super().__init__(whole, ROOT)

    @property
    def workloads(self) -> list[str]:
        """The workloads that are trained."""
        return sorted({spec.workload.name for spec in self.runs.values()})

    @property
    def backends(self) -> list[str]:
        """The backends that train."""
        return sorted({spec.backend.name for spec in self.runs.values()})

    @property
    def unavailable(self) -> list[Spec]:
        """The runs on devices that no machine of the tests has."""
        return [spec for spec in self.runs.values() if spec.backend.device != "cpu"]

    def names(self, kind: str) -> list[tuple[str, str]]:
        """(folder, name) of every figure or table that the config declares; kind: figures, tables."""
        return [
            (folder, name)
            for folder, block in self.shown().items()
            for name in getattr(block, kind)
        ]

    def drawn(self) -> dict[str, int]:
        """Jobs of the rules that draw and tabulate."""
        shown = self.shown()
        return {f"draw_{name}": 1 for section, name, _ in self.drawings() if section in shown}

    def jobs(self) -> dict[str, int]:
        """Jobs of each rule when nothing is there yet."""
        specs = self.runs.values()
        pretrained = {path for spec in specs for path in self.weights(spec)}
        datasets = {spec.workload.dataset for spec in specs}
        counts = {
            **dict.fromkeys(ONCE, 1),
            "fetch": len(datasets),
            "serialize": len(datasets),
            "pretrained": len(pretrained),
            "probe": len(self.probes),
            "first_steps": len(self.references),
            "train": len(self.runs),
            "measure_products": len(self.products),
            "check_parity": len(self.workloads),
            "collect_runs": len(self.experiments),
            "contests": len(self.timed),
            "first_answer": int(bool(self.questions_of[self.primary])),
            "page_so_far": len(self.experiments),
            **self.drawn(),
        }
        return {name: count for name, count in counts.items() if count}


def smoke() -> Plan:
    """The plan of the smoke run."""
    return Plan("smoke", config=DEFAULTS | SMOKE)
