"""What figures and tables of compiled steps are made from, and the remarks that they share."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ahead_of_time.bounds import table
from ahead_of_time.records import Compilation, Step
from paragone.analysis.statistics import INTERVAL, Estimate
from paragone.base.typed_json import Part

# How the status of a record reads.
STATUS = {
    "compiled": "compiled, not run",
    "refused": "refused by the compiler",
    "too_large": "does not fit",
    "no_compiler": "its compiler is not installed",
    "not_exported": "not exported by its framework",
}
COMPILED = "Compiled by the target's own compiler, NOT RUN: nothing here was measured."
BOUND = (
    "Bound: the longest of arithmetic, memory and links, each at the documented peak of one device. "
    "Arithmetic is that of direct convolutions and products. Memory is what operations left after fusion and "
    "calls of libraries read from main memory and write to it, but for what a cache may keep. Links are the "
    "least that collectives send. Latencies, dispatch and input are left out."
)


class About(Part, frozen=True):
    """The title of all figures and tables, labels and colors of backends, and which target a system is.

    `systems`: experiment and system of a paper, and the label of the target.
    """

    title: str
    systems: list[tuple[str, str, str]]
    labels: dict[str, str]
    palette: dict[str, str]


@dataclass(frozen=True)
class Shown:
    """The records that one figure or table shows.

    `published`: rows of `bounds.published_bounds`. `validations`: steps that were measured on this machine,
    and their seconds over their bound.
    """

    heading: About
    records: list[Compilation]
    published: pd.DataFrame
    validations: list[tuple[Step, Estimate]]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per record, with the label of its backend in `series`."""
        rows = table(self.records)
        return rows.assign(series=rows["backend"].map(self.label))

    def label(self, backend: str) -> str:
        """How a backend is called."""
        return self.heading.labels.get(backend, backend)

    @property
    def validated(self) -> str:
        """How far steps are from their bounds on this machine, in one sentence; every prediction has it."""
        if not self.validations:
            return "The method was not validated on this machine: a step may take any multiple of its bound."
        ratios = [
            f"{ratio.median:.2g} [{ratio.low:.2g}, {ratio.high:.2g}] ({step.label}, "
            f"{self.label(step.backend)}, batch {step.global_batch:,})"
            for step, ratio in self.validations
        ]
        below = any(ratio.median < 1 for _, ratio in self.validations)
        cached = " Below 1: caches held what the bound counts as memory." if below else ""
        return (
            "The same method aimed at this machine, by XLA's CPU compiler and MEASURED speeds of products of "
            f"matrices and of memory: measured step over bound {', '.join(ratios)}; {INTERVAL} of "
            f"{self.validations[0][1].n} timed runs.{cached}"
        )

    @property
    def sources(self) -> list[str]:
        """Who documents the peaks of each device, and which compilers were used."""
        devices = {record.target.device.name: record.target.device for record in self.records}
        texts = [
            f"Peaks of {name}: "
            + "; ".join(f"{key.replace('_', ' ')}: {text}" for key, text in device.sources.items())
            + "."
            for name, device in devices.items()
        ]
        versions = {
            f"{package} {record.software[package]}"
            for record in self.records
            for package in ("jaxlib", "libtpu", "jax-cuda12-plugin")
            if package in record.software
        }
        return [*texts, f"Compilers: {', '.join(sorted(versions))}."]


def milliseconds(seconds: float | None) -> str:
    """Seconds as milliseconds, three digits; a dash for a missing value."""
    return "-" if seconds is None or pd.isna(seconds) else f"{1e3 * seconds:,.3g}"
