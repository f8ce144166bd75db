"""The speed window: after its epochs a run trains on for a given time, and returns to where it was.

How fast a run is must not depend on how many steps its experiment can afford. The window is the program
and the data of training, in epochs of two lengths, which separates the time per step from the time per
epoch.
"""

import math
from dataclasses import dataclass

from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines import Engine
from paragone.machine.activity import HostWatch
from paragone.records.run_metrics import LEAST_STEPS
from paragone.records.run_record import Activity, Epoch, Timed
from paragone.training.clocks import Ledger
from paragone.training.counts import Counts
from paragone.workers.rendezvous import Rendezvous

# Relative lengths of the epochs: symmetric, so that a machine that slows down favors neither length.
PATTERN = (1, 8, 1, 1, 8, 1)


@dataclass(frozen=True)
class SpeedWindow:
    """`seconds`: how long the epochs take together; `limit`: seconds that they may take for the least
    number of steps. `meeting`: where all ranks learn what rank 0 has planned by its clock."""

    seconds: float
    limit: float
    meeting: Rendezvous

    def measure(
        self,
        engine: Engine,
        spec: Spec,
        dataset: Dataset,
        last: Epoch,
        ledger: Ledger,
        host: HostWatch,
    ) -> tuple[list[Timed], list[Activity]]:
        """The window's epochs, and what the host did in each; the engine's state is unchanged.

        `last`: the last epoch of training, whose numbering and learning rates they continue.
        """
        before = engine.snapshot()
        found: list[Timed] = []
        activity: list[Activity] = []
        known = Timed(last.steps, last.train_seconds)
        while lengths := self._agreed(found, known.seconds / known.steps):
            for steps in lengths:
                epoch = last.epoch + 1 + len(found)
                seed = framework_seed(spec.seed, epoch)
                # Of whole epochs, however few steps one of the run has: between two an order is drawn.
                counts = Counts(engine, spec, dataset, epoch, steps)
                batches = counts.over(train_batches(dataset, spec, epoch, engine.shard, steps))
                mark = host.mark()
                ledger.switch("window")
                engine.train_epoch(seed, spec.learning_rates(last.epoch, steps), batches, steps)
                seconds = ledger.switch("window")
                found.append(Timed(steps, seconds, counts.updates, counts.batches))
                activity += host.since(mark)
            known = total(found)
        engine.restore(before)
        return found, activity

    def _agreed(self, found: list[Timed], step: float) -> list[int]:
        own = plan(found, step, self.seconds, self.limit)
        return self.meeting.meet(f"window-{len(found)}", {"steps": own})[0]["steps"]


def plan(found: list[Timed], step: float, seconds: float, limit: float) -> list[int]:
    """The steps of the next epochs, after those of `found`; none if they suffice or time is up.

    `step`: seconds that one is expected to take. At least one epoch is planned. `limit` ends a window that
    is long enough, or will have too few steps in any case.
    """
    done = total(found)
    too_slow = LEAST_STEPS * step > limit
    unit = max(1, round((seconds - done.seconds) / step / sum(PATTERN)))
    lengths: list[int] = []
    for part in PATTERN:
        steps = done.steps + sum(lengths)
        spent = done.seconds + sum(lengths) * step
        if spent >= seconds and steps >= LEAST_STEPS:
            break
        beyond = spent + unit * part * step > limit
        if steps and beyond and (spent >= seconds or too_slow):
            break
        lengths.append(unit * part)
    return lengths


def total(parts: list[Timed]) -> Timed:
    """All steps and seconds."""
    return Timed(sum(one.steps for one in parts), math.fsum(one.seconds for one in parts))
