"""How much of a step is input, by loader; and what that says of published times."""

import math
from typing import Any

import pandas as pd

from paragone.analysis import input_share, run_states
from paragone.analysis.input_share import Beside, Estimate, InputShare
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

MEASURED = (
    "Measured: steps of the same engine with the loader and over mapped arrays, runs of one seed as a pair, "
    "in the speed window. Input share: 1 - t(arrays) / t(loader), geometric mean over pairs; in brackets its "
    "95 % interval by sign flips, which takes six pairs. It is what the loader adds to reading the arrays, "
    "without what it costs once an epoch, such as the start of its processes."
)
AT_MOST = (
    "Delivers at most: 1 over the seconds that the loader adds per example. Training keeps the cores busy; "
    "what a loader did on idle ones added nothing, so that it costs no less than this."
)
ARITHMETIC = (
    "Beside published: arithmetic on published numbers and on the rates measured here, on other hosts and "
    "images of another size. Above 100 %, the published system was fed faster than this machine's cores "
    "would feed it."
)
EXPLAINS = (
    "Explaining rate: at the same batch n times as many devices are n times as fast at most; input "
    "explains the rest of the published ratio if the run on fewer devices got no more examples/s than this."
)
CELLS = ["workload", "mapped arrays", "loader", "n", "arrays (ms per step)", "loader (ms per step)"]
CELLS += ["input share", "input (ms per example)", "delivers at most (examples/s)"]
NONE = "No loader was trained beside the mapped arrays of its engine: nothing to compare."


def table(inputs: Inputs) -> Table:
    """One row per loader and engine, then one per published time of a program that reads alike."""
    found = input_share.shares(inputs.series)
    published = []
    for name in inputs.published_experiments:
        one = inputs.published_beside(name)
        published += input_share.beside(found, one.published, one.protocols, one.ratios)
    rows = pd.DataFrame([*map(_measured, found), *map(_published, published)])
    if rows.empty:
        rows = pd.DataFrame(columns=["kind"])
    called = input_share.names(inputs.series, inputs.labels)
    blocks = [Block(_measured_cells(found, called), f"{WIDE * 3}rrrrrr", "Measured here")]
    notes = [MEASURED, AT_MOST] if found else [NONE]
    if published:
        blocks.append(
            Block(_published_cells(published, called), f"{WIDE * 4}rrrrr", "Beside published")
        )
        notes += [ARITHMETIC, EXPLAINS, *input_share.sentences(published, called)]
    title = f"{inputs.title}: how much is input"
    return Table(rows, title, footnotes.about(inputs.runs, *notes), blocks)


def _names(one: InputShare) -> dict[str, Any]:
    first = one.loader.runs.iloc[0]
    return {"workload": first["workload"], "global_batch": one.batch, "loader": first["loader"]}


def _measured(one: InputShare) -> dict[str, Any]:
    names = {
        "kind": "measured",
        **_names(one),
        "series": one.loader.label,
        "arrays": one.arrays.label,
    }
    runs = [*one.arrays.measured["run"], *one.loader.measured["run"]]
    return {
        **names,
        "n": one.n,
        **{f"{name}_step_seconds": one.step_seconds(name) for name in ("arrays", "loader")},
        **_bounded("input_share", one.share),
        **_bounded("input_seconds_per_example", one.seconds),
        **_bounded("delivered_per_second", one.rate),
        "runs": " ".join(runs),
    }


def _published(one: Beside) -> dict[str, Any]:
    return {
        "kind": "published",
        **_names(one.share),
        "series": one.share.loader.label,
        "system": one.row.system,
        "condition": one.row.condition,
        "published": one.row.printed,
        "published_per_second": one.rate,
        **_bounded("delivered_per_second", one.share.rate),
        "published_over_delivered": one.part,
        "ratio": one.ratio and one.ratio.value,
        "ratio_without_input": one.without_input,
        "explaining_per_second": one.explaining_rate,
    }


def _bounded(name: str, value: Estimate) -> dict[str, float]:
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


def _measured_cells(found: list[InputShare], called: dict[str, str]) -> pd.DataFrame:
    rows = [
        {
            "workload": f"{_names(one)['workload']}, batch {one.batch:,}",
            "mapped arrays": called[one.arrays.label],
            "loader": called[one.loader.label],
            "n": one.n,
            "arrays (ms per step)": _number(1e3 * one.step_seconds("arrays")),
            "loader (ms per step)": _number(1e3 * one.step_seconds("loader")),
            "input share": _share(one),
            "input (ms per example)": _number(1e3 * one.seconds.value),
            "delivers at most (examples/s)": _interval(one.rate, _number),
        }
        for one in found
    ]
    return pd.DataFrame(rows, columns=CELLS)


def _share(one: InputShare) -> str:
    """The share, or why there is none."""
    if one.n:
        return _interval(one.share, lambda value: f"{100 * value:.1f}", " %")
    words = [*run_states.no_speed(one.arrays.runs), *run_states.no_speed(one.loader.runs)]
    return "; ".join(dict.fromkeys(words)) or "speed window too short"


def _published_cells(found: list[Beside], called: dict[str, str]) -> pd.DataFrame:
    rows = [
        {
            "system": one.row.system,
            "condition": one.row.condition,
            "published": one.row.printed,
            "reads as": called[one.share.loader.label],
            "published (examples/s)": _number(one.rate),
            "over what is delivered here": _percent(one.part),
            "published ratio": f"{one.ratio.value:.2f} x" if one.ratio else "-",
            "without input in the reference": _times(one.without_input),
            "explaining rate (examples/s)": _number(one.explaining_rate),
        }
        for one in found
    ]
    return pd.DataFrame(rows)


def _number(value: float | None) -> str:
    """Three digits, more of large numbers."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(part: float) -> str:
    if math.isnan(part):
        return "-"
    return f"{100 * part:.0f} %" if part >= 0.1 else f"{100 * part:.2g} %"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f} x"


def _interval(one: Estimate, text: Any, unit: str = "") -> str:
    if not math.isfinite(one.value):
        return "-"
    if not math.isfinite(one.low):
        return f"{text(one.value)}{unit}"
    high = text(one.high) if math.isfinite(one.high) else "no bound"
    return f"{text(one.value)}{unit} [{text(one.low)}, {high}]"
