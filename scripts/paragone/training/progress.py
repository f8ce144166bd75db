"""Progress of a run for people: whole lines that name their run, so that several may interleave."""

import math
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from paragone.config.run_spec import Spec
from paragone.records.run_record import Epoch
from paragone.tasks import METRICS

SILENCE = 10.0  # seconds without a line after which an unfinished epoch reports itself


class Progress:
    """Prints one line per epoch, and one every ten seconds inside a long epoch.

    `steps`, `examples`: numbers in an epoch. `quiet`: print nothing, as every rank but the first does.
    """

    def __init__(self, spec: Spec, steps: int, examples: int, *, quiet: bool = False) -> None:
        self._spec, self._steps, self._examples, self._quiet = spec, steps, examples, quiet
        self._epoch_seconds: list[float] = []
        self._last_line = time.perf_counter()

    def say(self, text: str) -> None:
        """Print one line."""
        self._last_line = time.perf_counter()
        spec = self._spec
        run = f"{spec.workload.name} {spec.backend.name} x{spec.replicas} seed {spec.seed}"
        if not self._quiet:
            print(f"[{run}] {text}", flush=True)

    def watch(self, epoch: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches and report how far the epoch is, without synchronizing any device."""
        begun = time.perf_counter()
        for step, batch in enumerate(batches):
            now = time.perf_counter()
            # Steps may be queued in no time after a long warm-up: a speed needs seconds of this epoch.
            if step and now - max(begun, self._last_line) > SILENCE:
                elapsed = now - begun
                left = elapsed / step * (self._steps * (self._spec.epochs - epoch + 1) - step)
                rate = self._examples * step / self._steps / elapsed
                self.say(
                    f"epoch {epoch}/{self._spec.epochs}, step {step}/{self._steps}: "
                    f"{rate:,.0f} examples/s, {_clock(left)} left"
                )
            yield batch

    def epoch_done(self, row: Epoch, quality: float | None) -> None:
        """Report a finished epoch from its row in the record, and the quality of its evaluation."""
        seconds = row.train_seconds + row.evaluate_seconds
        self._epoch_seconds.append(seconds)
        recent = self._epoch_seconds[-3:]
        left = sum(recent) / len(recent) * (self._spec.epochs - row.epoch)
        metric = METRICS[self._spec.workload.task.quality_name].label
        self.say(
            f"epoch {row.epoch}/{self._spec.epochs}: "
            f"{self._examples / row.train_seconds:,.0f} examples/s, "
            f"test {metric} {math.nan if quality is None else quality:.4f}, {_clock(left)} left"
        )


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
