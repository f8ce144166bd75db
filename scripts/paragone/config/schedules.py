"""Schedules of the learning rate, as pure functions of how far a run has come."""

import itertools
import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import ABSENT, Block, Count, Fraction, NotNegative, Positive

Unit = Literal["epoch", "step"]
Shape = Literal["linear", "cosine", "polynomial", "exponential", "one-cycle", "inverse-square-root"]


class Decay(Block, frozen=True):
    """One step down of the learning rate

    after: units after which this step holds
    factor: the rate is base x factor
    """

    after: Count
    factor: Positive


class Warmup(Block, frozen=True):
    """A linear rise to the base; none if absent

    length: units of the rise
    start: factor of the first rate; 1 / (length + 1) if absent
    """

    length: Count
    start: Fraction | None = None

    def factor(self, passed: float) -> float:
        """The factor after `passed` units of the rise."""
        start = 1 / (self.length + 1) if self.start is None else self.start
        return start + (1 - start) * passed / self.length


# By shape: the key that it needs, and those that it may have.
SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("", ("over", "end")),
    "cosine": ("", ("over", "end")),
    "polynomial": ("power", ("over", "end")),
    "exponential": ("rate", ()),
    "one-cycle": ("", ("over", "end", "rise", "start")),
    "inverse-square-root": ("", ()),
}


class Schedule(Block, frozen=True):
    """The shape of the rate after the warm-up; constant if absent

    name: the shape; its formula is in docs/protocols.md
    over: units from the beginning of the run to the end of the shape; all if absent
    end: of linear, cosine, polynomial and one-cycle: factor at the end
    power: of polynomial: exponent of the share that is left
    rate: of exponential: factor of each unit
    rise: of one-cycle: share of the rise
    start: of one-cycle: factor at the beginning
    """

    name: Shape
    over: Count = ABSENT
    end: NotNegative = 0
    power: Positive = ABSENT
    rate: Positive = ABSENT
    rise: Annotated[float, Meta(gt=0, lt=1)] = 0.3
    start: Fraction = 0.04

    def __post_init__(self) -> None:
        needed, possible = SHAPES[self.name]
        for field in msgspec.structs.fields(self)[1:]:
            key, given = field.name, getattr(self, field.name) != field.default
            if key == needed and not given:
                raise ValueError(f"has no {key}, which {self.name} needs; add it")
            if given and key not in (needed, *possible):
                raise ValueError(f"has {key}, for which {self.name} has no use; leave it out")

    def factor(self, passed: float, warmup: int, length: float) -> float:
        """The factor after `passed` units of a run of `length`, of which `warmup` were warm-up."""
        end = self.over or length
        share = (passed - warmup) / (end - warmup) if passed < end else 1.0
        match self.name:
            case "linear":
                return _between(1, self.end, share)
            case "cosine":
                return _between(1, self.end, _half_cosine(share))
            case "polynomial":
                return _between(self.end, 1, (1 - share) ** self.power)
            case "exponential":
                return self.rate ** (passed - warmup)
            case "one-cycle":  # Smith & Topin (arXiv:1708.07120), both parts along a cosine
                if share < self.rise:
                    return _between(self.start, 1, _half_cosine(share / self.rise))
                return _between(1, self.end, _half_cosine((share - self.rise) / (1 - self.rise)))
            case "inverse-square-root":  # Vaswani et al. (arXiv:1706.03762), section 5.3
                return math.sqrt((warmup + 1) / (passed + 1))


class LearningRate(Block, frozen=True):
    """The schedule; the rate of a step is base x factor of the warm-up, or of the shape, x factor of decay

    base: rate before scaling and schedule
    per_batch: the rate is base x global batch / per_batch; base itself if absent
    decay: steps down; none if absent
    unit: what lengths are counted in, and how often the rate changes
    each_step: with unit epoch: change the rate at each step, by fractions of an epoch
    """

    base: Positive
    per_batch: Count = ABSENT
    decay: tuple[Decay, ...] = ()
    unit: Unit = "epoch"
    each_step: bool = False
    warmup: Warmup = ABSENT
    schedule: Schedule = ABSENT

    def __post_init__(self) -> None:
        if self.each_step and self.unit == "step":
            raise ValueError(
                "has each_step and the unit step, which changes the rate at each step anyway"
            )
        after = [step.after for step in self.decay]
        if any(later <= earlier for earlier, later in itertools.pairwise(after)):
            raise ValueError(
                "has a decay whose steps do not follow each other; order them by `after`"
            )
        over = self.schedule.over if self.schedule else None
        if over and self.warmup and over <= self.warmup.length:
            raise ValueError("has a schedule that is over before its warmup; make `over` longer")

    def factor(self, passed: float, length: float) -> float:
        """What the base is multiplied by after `passed` units of a run of `length`.

        That is the warm-up's factor or, after it, the schedule's; times that of the last entry of `decay`
        whose `after` units have passed.
        """
        factor: float = 1
        rise = self.warmup.length if self.warmup else 0
        if self.warmup and passed < rise:
            factor = self.warmup.factor(passed)
        elif self.schedule:
            factor = self.schedule.factor(passed, rise, length)
        decayed = [step.factor for step in self.decay if passed >= step.after]
        return factor * (decayed[-1] if decayed else 1)

    @property
    def constant(self) -> bool:
        """Return whether all steps of a run have the same rate."""
        return not (self.decay or self.warmup or self.schedule)

    @property
    def by_step(self) -> bool:
        """Return whether the rate may change from one step of an epoch to the next."""
        return not self.constant and (self.unit == "step" or self.each_step)

    def factors(self, epoch: int, epochs: int, steps: int) -> list[float]:
        """The factor of each step of an epoch (from 1), in a run of `epochs` of so many steps each."""
        if self.unit == "step":
            first = (epoch - 1) * steps
            return [self.factor(first + step, epochs * steps) for step in range(steps)]
        if self.each_step:
            return [self.factor(epoch - 1 + step / steps, epochs) for step in range(steps)]
        return [self.factor(epoch - 1, epochs)] * steps


def _half_cosine(share: float) -> float:
    """A rise from 0 to 1 along half a cosine."""
    return (1 - math.cos(math.pi * share)) / 2


def _between(first: float, last: float, share: float) -> float:
    """The value at a share of the line between two."""
    return first + (last - first) * share
