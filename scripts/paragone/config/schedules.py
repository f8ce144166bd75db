"""Schedules of the learning rate, as pure functions of how far a run has come."""

import itertools
import math
from typing import Any, Literal

import msgspec

from paragone.base.typed_json import ABSENT, Block, Count, Fraction, NotNegative, Positive

Unit = Literal["epoch", "step"]
Shape = Literal["linear", "cosine", "exponential", "steplr", "multisteplr"]
# The keys that a shape needs; it has no others. Those without may have `over` and `end`.
NEEDED: dict[Shape, tuple[str, ...]] = {
    "exponential": ("rate",),
    "steplr": ("step_size", "gamma"),
    "multisteplr": ("milestones", "gamma"),
}
# Frameworks, by how the names of their own optimizers and schedules begin.
OWN = {"torch.optim.": "torch", "keras.optimizers.": "tensorflow", "optax.": "jax"}


def defining(name: str) -> str | None:
    """Return the framework that defines what has this name; None for what the project defines."""
    return next((framework for begin, framework in OWN.items() if name.startswith(begin)), None)


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
        """Return the factor after `passed` units of the rise."""
        start = 1 / (self.length + 1) if self.start is None else self.start
        return start + (1 - start) * passed / self.length


class Schedule(Block, frozen=True):
    """The shape of the rate after the warm-up

    name: the shape; its formula is in docs/protocols.md
    over: of linear and cosine: units from the beginning of the run to the end of the shape; all
        if absent
    end: of linear and cosine: factor at the end
    rate: of exponential: factor of each unit
    step_size: of steplr: units from one step to the next
    milestones: of multisteplr: units from the beginning of the run to each step
    gamma: of steplr and multisteplr: factor of each step
    """

    name: Shape
    over: Count = ABSENT
    end: NotNegative = 0
    rate: Positive = ABSENT
    step_size: Count = ABSENT
    milestones: tuple[Count, ...] = ABSENT
    gamma: Positive = ABSENT

    def __post_init__(self) -> None:
        needed = NEEDED.get(self.name, ())
        for key in self.__struct_fields__[1:]:
            if key not in (needed or ("over", "end")) and getattr(self, key):
                raise ValueError(f"has {key}, for which {self.name} has no use; leave it out")
            if key in needed and not getattr(self, key):
                raise ValueError(f"has no {key}, which {self.name} needs; add it")
        if any(later <= earlier for earlier, later in itertools.pairwise(self.milestones or ())):
            raise ValueError("has milestones that do not rise; order them, each once")

    def factor(self, passed: float, warmup: int, length: float) -> float:
        """Return the factor after `passed` units of a run of `length`, of which `warmup` were warm-up."""
        end = self.over or length
        share = (passed - warmup) / (end - warmup) if passed < end else 1.0
        match self.name:
            case "linear":
                return 1 + (self.end - 1) * share
            case "cosine":
                return 1 + (self.end - 1) * (1 - math.cos(math.pi * share)) / 2
            case "exponential":
                return self.rate ** (passed - warmup)
            case "steplr":
                return self.gamma ** ((passed - warmup) // self.step_size)
            case "multisteplr":
                return self.gamma ** sum(passed >= milestone for milestone in self.milestones)


class LearningRate(Block, frozen=True):
    """The schedule; the rate of a step is base x factor of the warm-up, or of the shape, x factor of decay

    base: rate before scaling and schedule; may be left to `defaults` of the optimizer; Keras'
        and optax' own schedules have none
    per_batch: the rate is base x global batch / per_batch; base itself if absent
    decay: steps by any factors, times the schedule's; none if absent
    unit: what lengths are counted in, and how often the rate changes
    schedule: the shape of the rate after the warm-up, by `name`; or a framework's own, as
        torch.optim.lr_scheduler.OneCycleLR, keras.optimizers.schedules.CosineDecay or
        optax.cosine_onecycle_schedule, with its own arguments; constant if absent
    """

    base: Positive = ABSENT
    per_batch: Count = ABSENT
    decay: tuple[Decay, ...] = ()
    unit: Unit = "epoch"
    warmup: Warmup = ABSENT
    schedule: dict[str, Any] = ABSENT

    def __post_init__(self) -> None:
        name = self.of_framework
        barred = ("warmup", "decay", "base", "per_batch")[: 4 if self.absolute else 2]
        if name and (has := [key for key in barred if getattr(self, key)]):
            raise ValueError(f"has {has[0]}, and {name} defines the rates; leave one of them out")
        if self.absolute and self.unit != "step":
            raise ValueError(f"has no unit: step, and {name} counts steps; add it")
        after = [step.after for step in self.decay]
        if any(later <= earlier for earlier, later in itertools.pairwise(after)):
            raise ValueError(
                "has a decay whose steps do not follow each other; order them by `after`"
            )
        over = (self.schedule or {}).get("over")
        if isinstance(over, int) and self.warmup and over <= self.warmup.length:
            raise ValueError("has a schedule that is over before its warmup; make `over` longer")

    @property
    def of_framework(self) -> str:
        """Return the name of a framework's own schedule; nothing for a shape of the project."""
        name = str((self.schedule or {}).get("name", ""))
        return name if defining(name) else ""

    @property
    def absolute(self) -> bool:
        """Return whether the framework's own schedule has rates, and not PyTorch's changes of a base."""
        return defining(self.of_framework) in ("tensorflow", "jax")

    @property
    def shape(self) -> Schedule | None:
        """Return the project's shape of the rate, if it has one."""
        has_shape = self.schedule and not self.of_framework
        return msgspec.convert(self.schedule, Schedule) if has_shape else None

    def factor(self, passed: float, length: float) -> float:
        """Return what the base is multiplied by after `passed` units of a run of `length`.

        That is the warm-up's factor or, after it, the schedule's; times that of the last entry of `decay`
        whose `after` units have passed.
        """
        factor: float = 1
        rise = self.warmup.length if self.warmup else 0
        if self.warmup and passed < rise:
            factor = self.warmup.factor(passed)
        elif shape := self.shape:
            factor = shape.factor(passed, rise, length)
        decayed = [step.factor for step in self.decay if passed >= step.after]
        return factor * (decayed[-1] if decayed else 1)

    @property
    def constant(self) -> bool:
        """Return whether all steps of a run have the same rate."""
        return not (self.decay or self.warmup or self.schedule)

    @property
    def by_step(self) -> bool:
        """Return whether the rate may change from one step of an epoch to the next."""
        return not self.constant and self.unit == "step"

    def factors(self, epoch: int, epochs: int, steps: int) -> list[float]:
        """Return the factor of each step of an epoch (from 1), in a run of `epochs` of so many steps each."""
        if self.unit == "step":
            first = (epoch - 1) * steps
            return [self.factor(first + step, epochs * steps) for step in range(steps)]
        return [self.factor(epoch - 1, epochs)] * steps
