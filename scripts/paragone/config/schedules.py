"""Schedules of the learning rate, as pure functions of how far a run has come."""

import math
from typing import Literal

from paragone.base.typed_json import Block, Count, Number

Unit = Literal["epoch", "step"]
Shape = Literal["linear", "cosine", "polynomial", "exponential", "one-cycle", "inverse-square-root"]


class Decay(Block, frozen=True):
    """The factor of the learning rate after so many units."""

    after: Count
    factor: Number


class Warmup(Block, frozen=True):
    """A linear rise over `length` units from the factor `start`; from 1 / (length + 1) if None."""

    length: Count
    start: Number | None = None

    def factor(self, passed: float) -> float:
        """The factor after `passed` units of the rise."""
        start = 1 / (self.length + 1) if self.start is None else self.start
        return start + (1 - start) * passed / self.length


class Schedule(Block, frozen=True):
    """The shape of the learning rate after the warm-up; `factor` has the formulas.

    `over`: units from the beginning of the run to the end of the shape; None for the whole run.
    """

    name: Shape
    over: Count | None = None
    end: Number = 0
    power: Number = 1
    rate: Number = 1
    rise: Number = 0.3
    start: Number = 0.04

    def factor(self, passed: float, warmup: int, length: float) -> float:
        """The factor after `passed` units of a run of `length`, of which `warmup` were warm-up."""
        end = length if self.over is None else self.over
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
    """The schedule; see `factor`, and `Spec.learning_rates`.

    `each_step`: with the unit "epoch", the rate changes at each step, by fractions of an epoch.
    """

    base: Number
    per_batch: Count | None = None
    decay: tuple[Decay, ...] = ()
    unit: Unit = "epoch"
    each_step: bool = False
    warmup: Warmup | None = None
    schedule: Schedule | None = None

    def factor(self, passed: float, length: float) -> float:
        """What the base is multiplied by after `passed` units of a run of `length`.

        That is the warm-up's factor or, after it, the schedule's; times that of the last entry of `decay`
        whose `after` units have passed.
        """
        factor: Number = 1
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
