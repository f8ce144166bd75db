"""Published speed-ups and the best case of the cost model: compute that divides evenly, one link."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from paragone.analysis.published import Protocol, Ratio
from paragone.analysis.scaling.cost import AllReduce, Compute, StepModel
from paragone.analysis.verdicts import NOT_COMPARABLE

AT_BEST, BELOW, ABOVE = "the best case", "below the best case", "above the best case"


@dataclass(frozen=True)
class Check:
    """Published ratios of one experiment, the trained parameters of its model, and the links that its
    replicas may have had, by label."""

    experiment: str
    parameters: int
    links: dict[str, AllReduce]

    @classmethod
    def from_config(cls, entry: dict[str, Any]) -> "Check":
        """Of an entry of `scaling.checks`."""
        links = {
            one["label"]: AllReduce(float(one["latency"]), 1 / float(one["bandwidth"]))
            for one in entry["links"]
        }
        return cls(entry["published"], int(entry["parameters"]), links)


def rows_of(
    check: Check, ratios: list[Ratio], protocols: dict[str, Protocol]
) -> list[dict[str, Any]]:
    """One row per published ratio and link: published and predicted value, verdict and reason."""
    return [
        _row(ratio, protocols, check, label, link)
        for ratio in ratios
        for label, link in check.links.items()
    ]


def _row(
    ratio: Ratio, protocols: dict[str, Protocol], check: Check, label: str, link: AllReduce
) -> dict[str, Any]:
    about = {
        "experiment": check.experiment,
        "system": ratio.system,
        "condition": ratio.condition,
        "published": ratio.value,
        "printed": ratio.printed,
        "link": label,
    }
    protocol, base = protocols[ratio.row.system], protocols[ratio.reference.system]
    batch, reference = protocol.batch_of(ratio.row), base.batch_of(ratio.reference)
    replicas, examples = protocol.replicas, base.epoch_examples
    if not (batch and reference and replicas and examples) or base.replicas != 1:
        why = "the source leaves batch, replicas or the length of an epoch open"
        return {**about, "predicted": float("nan"), "verdict": NOT_COMPARABLE, "why": why}
    each = float(ratio.reference.value) / examples  # seconds per example; all else is free
    model = StepModel(Compute(0.0, 0.0, each), link, 4 * check.parameters, shared=False)
    one = reference / model.seconds(1, reference)
    predicted = batch / model.seconds(replicas, batch / replicas) / one
    verdict, why = _judge(ratio, predicted, replicas)
    return {**about, "predicted": predicted, "verdict": verdict, "why": why}


def _judge(ratio: Ratio, predicted: float, replicas: int) -> tuple[str, str]:
    low, high = ratio.rounding
    if low <= predicted <= high:
        return AT_BEST, "equal within the rounding of the published numbers"
    size = f"published is {ratio.value / predicted:.2f} times the best case"
    if low > replicas:
        return ABOVE, (
            f"{size}: more than {replicas} devices can give; one device and {replicas} did not run "
            "the same program at the same efficiency"
        )
    if low > predicted:
        return ABOVE, f"{size}: the link was faster than this, or overlapped with compute"
    return BELOW, f"{size}: the rest is a fixed cost per step, or a slower link"


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as one table."""
    columns = ["experiment", "system", "condition", "published", "printed", "link"]
    return pd.DataFrame(rows, columns=[*columns, "predicted", "verdict", "why"])
