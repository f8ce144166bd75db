"""What figures and tables of compiled steps have in common: remarks, sources, published times beside."""

import pandas as pd

from paragone.analysis.ahead_of_time.published import Beside, SpeedUp, beside, speed_ups
from paragone.analysis.ahead_of_time.roofline import PARTS, gathers_activations
from paragone.analysis.ahead_of_time.validation import Validation
from paragone.analysis.published import Row
from paragone.reporting.inputs import Inputs

# How the parts of a bound are drawn and called.
SHAPES = dict(zip(PARTS, ("s", "o", "^"), strict=True))
NAMES = dict(zip(PARTS, ("arithmetic", "memory", "links"), strict=True))
COMPILED = "Compiled by the target's own compiler, NOT RUN: nothing here was measured."
BOUND = (
    "Bound: the longest of arithmetic, memory and links, each at the documented peak of one device; "
    "arithmetic is that of direct convolutions and products, memory what operations left after fusion and "
    "calls of libraries read from main memory and write to it, but for what a cache may keep, links the "
    "least that collectives send. Latencies, dispatch and input are left out."
)


def beside_published(inputs: Inputs) -> list[Beside]:
    """The published times that the settings name, with their bounds."""
    found: list[Beside] = []
    for entry in inputs.settings.get("beside", []):
        of_source = inputs.published_beside(entry["published"])
        found += beside(
            entry["published"],
            entry["system"],
            entry["target"],
            of_source.published,
            of_source.protocols,
            inputs.compilations,
        )
    return found


def published_speed_ups(inputs: Inputs, found: list[Beside]) -> dict[Row, SpeedUp]:
    """The published ratios between the times that have a bound, by row."""
    names = dict.fromkeys(one.experiment for one in found)
    ratios = [ratio for name in names for ratio in inputs.published_beside(name).ratios]
    return speed_ups(found, ratios)


def validated(inputs: Inputs) -> str:
    """How far steps are from their bounds on this machine, in one sentence; every prediction has it."""
    ratios = [_ratio(one, inputs.labels) for one in inputs.validations]
    below = any(one.ratio.median < 1 for one in inputs.validations)
    cached = " Below 1: caches held what the bound counts as memory." if below else ""
    if not ratios:
        return "The method was not validated on this machine: a step may take any multiple of its bound."
    return (
        "The same method aimed at this machine, by XLA's CPU compiler and measured peaks: measured step over "
        f"bound {', '.join(ratios)}.{cached}{busy(inputs)}"
    )


def named(workload: str, width: float | None) -> str:
    """A workload, and the width of its model where that has one."""
    return workload if pd.isna(width) else f"{workload} of width {width:.0f}"


def _ratio(one: Validation, labels: dict[str, str]) -> str:
    devices = f", {one.devices} virtual devices" if one.devices > 1 else ""
    backend = labels.get(one.backend, one.backend)
    about = f"{named(one.workload, one.width)}, {backend}, batch {one.global_batch}{devices}"
    return f"{one.ratio.median:.2g} ({about})"


def busy(inputs: Inputs) -> str:
    """A warning of measured steps that others disturbed; empty without."""
    count = sum(one.busy for one in inputs.validations)
    total = len(inputs.validations)
    return f" BUSY MACHINE during {count} of {total} measured steps: too slow." if count else ""


def sources(inputs: Inputs) -> list[str]:
    """Who documents the peaks of each device, and which compilers were used."""
    devices: dict[str, dict[str, str]] = {
        record.target.device: record.target.sources for record in inputs.compilations
    }
    texts = []
    for name, numbers in devices.items():
        known = [f"{key.replace('_', ' ')}: {text}" for key, text in numbers.items()]
        texts.append(f"Peaks of {name}: {'; '.join(known)}.")
    versions = {
        f"{package} {record.software[package]}"
        for record in inputs.compilations
        for package in ("jaxlib", "libtpu", "jax-cuda12-plugin")
        if package in record.software
    }
    return [*texts, f"Compilers: {', '.join(sorted(versions))}."]


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, three digits; a dash for a missing value."""
    return "-" if pd.isna(seconds) else f"{1e3 * seconds:,.3g}"


def number(value: float) -> str:
    """Three digits, all of them from a thousand on; a dash for a missing value."""
    return "-" if pd.isna(value) else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def not_divided(inputs: Inputs) -> list[str]:
    """A sentence on the programs that devices do not divide by examples; none where all are divided."""
    names = [
        f"{one.program.workload} of {inputs.labels.get(one.program.backend, one.program.backend)} on "
        f"{one.target.label}"
        for one in inputs.compilations
        if gathers_activations(one)
    ]
    words = "Not divided by examples, since devices gather whole activations"
    return [f"{words}: {', '.join(dict.fromkeys(names))}."] if names else []
