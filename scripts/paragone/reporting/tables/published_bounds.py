"""Every published time of a machine that is not here, with the least time of a compiled step beside it."""

from typing import Any

import pandas as pd

from paragone.analysis.ahead_of_time.published import Beside, SpeedUp, sentences
from paragone.reporting.compilations import (
    BOUND,
    COMPILED,
    beside_published,
    milliseconds,
    published_speed_ups,
    sources,
    validated,
)
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

EXPLAINED = (
    "Explained at most: arithmetic, memory and links at their documented peaks, one after the other, over "
    "the published time of a step. What the rest was, the sources do not say: their clocks include input, "
    "dispatch and, where noted, compilation and evaluation."
)


def table(inputs: Inputs) -> Table:
    """One row per published time."""
    found = beside_published(inputs)
    names = list(dict.fromkeys(name for one in found for name in one.bounds))
    labels = {record.target.name: record.target.label for record in inputs.compilations}
    ratios = published_speed_ups(inputs, found)
    rows = pd.DataFrame([_row(one, names, labels, ratios.get(one.row)) for one in found])
    cells = pd.DataFrame(
        {
            "system": rows["system"],
            "workload": rows["workload"],
            "condition": rows["condition"],
            "metric": rows["metric"].str.replace("_", " "),
            "published": rows["published"],
            "per step (ms)": rows["step_seconds"].map(milliseconds),
            **{
                f"bound, {inputs.labels.get(name, name)} (ms)": [_bound(one, name) for one in found]
                for name in names
            },
            "explained at most": rows["explained"].map(_share),
            "verdict": rows["verdict"],
            "why": rows["why"],
        }
    )
    layout = f"{WIDE * 3}lrr{'r' * len(names)}r{WIDE * 2}"
    said = list(sentences(rows))
    machines = dict.fromkeys(zip(rows["system"], rows["target_label"], strict=True))
    taken = "; ".join(f"{system} for {label}" for system, label in machines)
    remarks = [*said, f"Taken: {taken}.", COMPILED, BOUND, EXPLAINED]
    remarks += [validated(inputs), *sources(inputs)]
    title = f"{inputs.title}: published times and lower bounds"
    return Table(rows, title, remarks, [Block(cells, layout)])


def _row(
    one: Beside, names: list[str], labels: dict[str, str], ratio: SpeedUp | None
) -> dict[str, Any]:
    return {
        "experiment": one.experiment,
        "workload": one.workload,
        "system": one.row.system,
        "target": one.target,
        "target_label": labels.get(one.target, one.target),
        "condition": one.row.condition,
        "metric": one.row.metric,
        "published": one.row.printed,
        "steps": one.steps,
        "step_seconds": one.seconds,
        "bound_seconds": one.lower,
        "explained": one.explained,
        "verdict": one.verdict,
        "why": one.why or _why(one),
        "against": ratio and f"{ratio.ratio.reference.system} ({ratio.ratio.reference.condition})",
        "speed_up": ratio and ratio.ratio.value,
        "allowed_least": ratio and ratio.least,
        "allowed_most": ratio and ratio.most,
        **{f"bound_seconds_{name}": _seconds(one, name) for name in names},
    }


def _why(one: Beside) -> str:
    binds = sorted({bound.binds for bound in one.bounds.values()})
    note = f"; {one.row.note}" if one.row.note else ""
    return f"{' or '.join(binds)} binds{note}"


def _seconds(one: Beside, name: str) -> float | None:
    return one.bounds[name].seconds if name in one.bounds else None


def _bound(one: Beside, name: str) -> str:
    return f"{1e3 * one.bounds[name].seconds:.3g}" if name in one.bounds else "-"


def _share(share: float) -> str:
    return "-" if pd.isna(share) else f"{100 * share:.2g} %" if share < 1 else "all"
