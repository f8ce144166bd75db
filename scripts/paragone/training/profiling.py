"""Some training steps, without and with the framework's profiler: what its profile is worth, and costs."""

import time
from collections.abc import Callable
from typing import Any

from paragone.base.errors import Unavailable, UserError
from paragone.base.ranks import World
from paragone.config.run_spec import Spec, requested
from paragone.data import Dataset
from paragone.data.batches import noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines import Engine
from paragone.engines.profiles import Operation, Profile
from paragone.models.initial_weights import Pretrained, starting
from paragone.workers.rendezvous import Rendezvous

SECONDS = 1.0  # of the steps that are profiled
LEAST, MOST = 2, 300  # steps; each leaves thousands of events in memory
SHOWN = 10

Profiler = Callable[[Callable[[], float], str], Profile]


def profile_steps(
    engine: Engine,
    profiler: Profiler,
    spec: Spec,
    dataset: Dataset,
    threads: int,
    meeting: Rendezvous,
    world: World,
    pretrained: Pretrained | None = None,
) -> dict[str, Any]:
    """Build the engine, warm it up, and train as many steps three times: alone, profiled, alone.

    The result's `profiler`, `steps`, `step_milliseconds`, `operations` and what they are a part of
    (rules/schemas/profile.schema.json). Of several workers rank 0 is profiled, and all train the same steps;
    the others' result is empty. Raises `Unavailable` without the devices, or where the profiler sees no
    operation, `UserError` if other devices are observed than asked for, and what the framework raises.
    """
    engine.build(spec, dataset, threads, world)
    if engine.devices != requested(spec):
        raise UserError(f"{requested(spec)} asked for, but {engine.devices} observed")
    engine.set_weights(starting(engine.weights(), spec, pretrained)[0])
    rate, seed = spec.learning_rate(1), framework_seed(spec.seed, 1)
    engine.warm_up(rate, *noise_batches(dataset, spec, engine.shard))

    def train(steps: int) -> float:
        """The seconds of so many steps; the device is idle at both edges."""
        batches = train_batches(dataset, spec, 1, engine.shard, steps)
        begin = time.perf_counter()
        engine.train_epoch(seed, rate, batches, steps)
        return time.perf_counter() - begin

    steps = LEAST
    for attempt in range(2):  # the first is of few steps, and of what only first steps cost
        own = {"steps": planned(train(steps) / steps)}
        steps = meeting.meet(f"steps-{attempt}", own)[0]["steps"]
        if steps == LEAST:
            break
    before = train(steps)
    if world.rank:
        for _ in range(2):  # an epoch each: at its end the workers communicate
            train(steps)
        return {}
    found = profiler(lambda: train(steps), spec.backend["device"])
    after = train(steps)
    if not any(one.seconds for one in found.operations):
        raise Unavailable(f"{found.profiler} {found.version} sees no operations here")
    return {
        "profiler": {"name": found.profiler, "version": found.version},
        "steps": steps,
        "step_milliseconds": {
            "alone": 1e3 * (before + after) / 2 / steps,
            "profiled": 1e3 * found.seconds / steps,
        },
        **_costliest(found.operations, steps),
        "operations_are": found.of,
    }


def planned(step: float) -> int:
    """How many steps of so many seconds each are profiled."""
    return min(MOST, max(LEAST, round(SECONDS / step)))


def _costliest(operations: list[Operation], steps: int) -> dict[str, Any]:
    """The costliest operations, per step, and the time of all of which they are a part."""
    whole = sum(one.seconds for one in operations)
    first = sorted(operations, key=lambda one: (-one.seconds, one.name))[:SHOWN]
    return {
        "operations": [
            {
                "name": one.name,
                "calls": one.calls / steps,
                "milliseconds": 1e3 * one.seconds / steps,
                "share": one.seconds / whole,
            }
            for one in first
            if one.seconds
        ],
        "all_operations": {"names": len(operations), "milliseconds": 1e3 * whole / steps},
    }
