"""How much of a step is input: runs with a loader beside those that read the mapped arrays, paired by seed.

What is measured are steps with and without the loader. All that follows about published systems is arithmetic
on these, and says so.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from paragone.analysis.grouping import Series
from paragone.analysis.metrics import named
from paragone.analysis.paired import Effects
from paragone.analysis.pairwise import SHARED, by_seed
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.config.run_spec import ARRAYS

SPEED = named("speed")
# What two series must have in common, so that the loader is all that differs.
_SAME = ["workload", "global_batch", "replicas", "workers", "precision", "division"]
_SAME += ["engine", "strategy", "device", "feed"]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval by sign flips; NaN where too few pairs, or noise, leave a bound open."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class InputShare:
    """A `loader`'s series beside that of the same engine over mapped `arrays`."""

    loader: Series
    arrays: Series

    @property
    def batch(self) -> int:
        """Examples of a step."""
        return int(self.loader.runs["global_batch"].iloc[0])

    @cached_property
    def speeds(self) -> pd.DataFrame:
        """Steady examples/s of the pairs, by seed: columns `loader` and `arrays`."""
        both = {name: by_seed(getattr(self, name), SPEED) for name in ("loader", "arrays")}
        return pd.DataFrame(both).dropna().astype(float)

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.speeds)

    def step_seconds(self, name: str) -> float:
        """Seconds of a step, of `loader` or `arrays`: the median of the pairs."""
        return float((self.batch / self.speeds[name]).median())

    @property
    def share(self) -> Estimate:
        """The share of a step that the loader adds: 1 - t(arrays) / t(loader), its mean on the log scale."""
        found = Effects(SPEED.effects(self.speeds["loader"], self.speeds["arrays"]).to_numpy())
        low, high = (1 - math.exp(end) for end in reversed(found.interval()))
        known = math.isfinite(low)
        return Estimate(
            1 - math.exp(found.mean), low if known else math.nan, high if known else math.nan
        )

    @property
    def seconds(self) -> Estimate:
        """Seconds that the loader adds per example."""
        found = Effects((1 / self.speeds["loader"] - 1 / self.speeds["arrays"]).to_numpy())
        ends = (end if math.isfinite(end) else math.nan for end in found.interval())
        return Estimate(found.mean, *ends)

    @property
    def rate(self) -> Estimate:
        """Examples/s that the loader would deliver if it did nothing else, at most: 1 / `seconds`.

        At most, since what ran while cores were idle added nothing.
        """
        spent = self.seconds
        return Estimate(*map(_inverse, (spent.value, spent.high, spent.low)))


def _inverse(seconds: float) -> float:
    return 1 / seconds if seconds > 0 else math.nan


def shares(series: list[Series]) -> list[InputShare]:
    """Each series with a loader beside that of the same engine without one, where there is such a series."""
    arrays = {_key(one): one for one in reversed(series) if _loader(one) == ARRAYS}
    return [
        InputShare(one, arrays[_key(one)])
        for one in series
        if _loader(one) != ARRAYS and _key(one) in arrays
    ]


def names(series: list[Series], labels: dict[str, str]) -> dict[str, str]:
    """By label, what to call a series beside others of its work: its backend, where that is enough."""
    cells = [(*one.runs[["workload", "global_batch"]].iloc[0], one.backend) for one in series]
    return {
        one.label: labels.get(one.backend, one.label) if cells.count(cell) == 1 else one.label
        for one, cell in zip(series, cells, strict=True)
    }


def _loader(one: Series) -> str:
    """The loader of a series; of runs whose records cannot be read none."""
    known = one.runs["loader"].dropna()
    return ARRAYS if known.empty else str(known.iloc[0])


def _key(one: Series) -> tuple[str, ...]:
    return tuple(str(one.runs[name].iloc[0]) for name in (*_SAME, *SHARED))


@dataclass(frozen=True)
class Beside:
    """A published time or speed of a program that reads as a loader does, and that loader's rate here.

    `rate`: published examples/s. `examples`: of an epoch, if the value is the time of one. `ratio`: of the
    value to that of a run on fewer devices, which `times` as many had; None where none is compared.
    """

    share: InputShare
    row: Row
    rate: float
    examples: int | None
    ratio: Ratio | None
    times: float

    @property
    def part(self) -> float:
        """Published rate over the loader's here: above 1 it is more than this machine delivers."""
        return self.rate / self.share.rate.value

    @property
    def unexplained(self) -> float | None:
        """Seconds of the reference's epoch that its lack of devices cannot explain; None if there are none.

        At the same batch n times as many devices save a factor n at most: what is left of the reference's
        time without n times the row's. A larger batch may have used each device better.
        """
        if self.ratio is None or self.examples is None:
            return None
        if self.row.batch != self.ratio.reference.batch:
            return None
        rest = self.ratio.reference.seconds - self.times * self.ratio.row.seconds
        return rest if rest > 0 else None

    @property
    def explaining_rate(self) -> float | None:
        """Examples/s: input of the reference that delivered this, or less, explains all of `unexplained`."""
        return None if self.unexplained is None else (self.examples or 0) / self.unexplained

    @property
    def without_input(self) -> float | None:
        """The published ratio if the reference's epoch had not had the seconds that the loader adds here.

        None where the loader takes longer here than that epoch took.
        """
        if self.ratio is None or self.examples is None:
            return None
        rest = self.ratio.reference.seconds - self.examples * self.share.seconds.value
        return rest / self.ratio.row.seconds if rest > 0 else None


def beside(
    found: list[InputShare], rows: list[Row], protocols: dict[str, Protocol], ratios: list[Ratio]
) -> list[Beside]:
    """The published times and speeds of programs that read as one of the loaders does, on its workload.

    A speed only at the loader's batch: times of an epoch are shown at each.
    """
    of_row = {one.row: one for one in ratios if one.inverse}
    result = []
    for share in found:
        first = share.loader.runs.iloc[0]
        for row in rows:
            protocol = protocols.get(row.system)
            if protocol is None or protocol.loader != first["loader"]:
                continue
            rate = _rate(row, protocol)
            if protocol.workload != first["workload"] or rate is None:
                continue
            if row.metric == "throughput" and row.global_batch(protocol) != share.batch:
                continue
            ratio = of_row.get(row)
            counts = (
                [protocols[one.system].replicas or 1 for one in (row, ratio.reference)]
                if ratio
                else [1, 1]
            )
            examples = protocol.epoch_examples if row.metric == "epoch_time" else None
            result.append(Beside(share, row, rate, examples, ratio, counts[0] / counts[1]))
    return result


def _rate(row: Row, protocol: Protocol) -> float | None:
    """Published examples/s; None for what is no speed, or covers examples that the source does not state."""
    examples = {
        "epoch_time": protocol.epoch_examples,
        "training_time": (protocol.epoch_examples or 0) * (row.epoch or 0) if row.final else None,
        "step_time": row.global_batch(protocol),
    }.get(row.metric)
    if row.metric == "throughput":
        return float(row.value)
    return examples / row.seconds if examples else None


def sentences(found: list[Beside], called: dict[str, str]) -> list[str]:
    """One sentence per published ratio that devices alone cannot explain: what input would have to be.

    called: the names of series by label.
    """
    said = []
    for one in found:
        if one.unexplained is None or one.ratio is None:
            continue
        text = (
            f"{one.row.system} ({one.row.condition}) against {one.ratio.reference.system}: published "
            f"{one.ratio.value:.2g} x as fast with {one.times:g} x the devices. "
            f"{one.unexplained:.0f} s of the {one.ratio.reference.printed} cannot be compute that they "
            f"share; input explains them if it delivered no more than {one.explaining_rate:,.0f} "
            "examples/s (arithmetic on published numbers)."
        )
        delivered = one.share.rate.value
        if math.isfinite(delivered):
            rest, name = one.without_input, called[one.share.loader.label]
            text += f" Measured here: {name} delivers at most {delivered:,.0f} examples/s"
            text += (
                f"; without that input in the reference the ratio would be {rest:.2g} x (arithmetic)."
                if rest is not None
                else ", which is slower than the whole reference."
            )
        said.append(text)
    return said
