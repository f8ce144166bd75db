"""Drive one engine as the training loop does: a program, since a process sets its devices once.

    python observe_engine.py <specification> <manifest> <data folder> <rendezvous folder>

Every worker of a run is such a process; rank 0 writes facts.json to the rendezvous folder.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace

from paragone import data, engines
from paragone.config.run_spec import Spec
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.models.weights import digest, starting
from paragone.training.counts import Counts
from paragone.workers.rendezvous import Rendezvous

UNEVEN = 768  # divides over replicas, does not divide the number of test examples


class Lab:
    """One engine of a run, on its initial weights."""

    def __init__(self, spec: Spec, dataset: data.Dataset, meeting: Rendezvous) -> None:
        self.spec, self.dataset, self.meeting = spec, dataset, meeting
        world = meeting.join()
        self.engine = engines.create(spec)
        self.engine.build(spec, dataset, max(1, 2 // spec.workers), world)
        self.engine.set_weights(starting(self.engine.weights(), spec, None)[0])

    def warm_up(self) -> None:
        noise = noise_batches(self.dataset, self.spec, self.engine.shard)
        self.engine.warm_up(self.spec.learning_rates(1, 1)[0], *noise)

    def train(self, epoch: int, **other: Any) -> list[float]:
        """Loss and accuracy of an epoch; `other`: fields of the specification, such as another length."""
        spec = replace(self.spec, **other)
        batches = train_batches(self.dataset, spec, epoch, self.engine.shard)
        seed, steps = framework_seed(spec.seed, epoch), spec.steps_per_epoch
        rates = spec.learning_rates(epoch, steps)
        metrics = self.engine.train_epoch(seed, rates, batches, steps)
        return [metrics.loss, metrics.scores[0]]

    def counted(self, epoch: int, steps: int) -> list[float]:
        """Loss and accuracy of an epoch as in a contest, whose updates and batches must be its steps."""
        counts = Counts(self.engine, self.spec, self.dataset, epoch, steps)
        batches = train_batches(self.dataset, self.spec, epoch, self.engine.shard, steps)
        rates = self.spec.learning_rates(1, steps)
        metrics = self.engine.train_epoch(0, rates, counts.over(batches), steps)
        assert counts.batches == steps
        assert abs(counts.updates * self.spec.workload.accumulated - steps) < (
            self.spec.workload.accumulated
        )
        return [metrics.loss, metrics.scores[0]]


def contract(lab: Lab) -> dict[str, Any]:
    """What an engine owes the loop: it keeps its state, compiles in the warm-up, and waits once an epoch."""
    engine, name = lab.engine, lab.spec.backend.engine
    compiled = COMPILED.get(name, lambda _: 0)
    facts: dict[str, Any] = {}
    lab.warm_up()
    programs = compiled(engine)
    lab.train(1)
    with TemporaryDirectory() as folder:
        engine.save(Path(folder))
        second = lab.train(2), digest(engine.weights())
        facts["compiled"] = compiled(engine) - programs
        engine.load(Path(folder))
        before = engine.snapshot()
        for number, steps in enumerate((1, 8, 3), start=3):
            lab.counted(number, steps)
        engine.restore(before)
        lab.warm_up()
        facts["repeated"] = (lab.train(2), digest(engine.weights())) == second
    if waits := WAITS.get(name):
        facts["waits"] = [
            waits(lambda steps=steps: lab.train(3, steps_per_epoch=steps)) for steps in (2, 6)
        ]
    facts |= evaluation(lab)
    if lab.spec.workers == 1:
        facts["leak"] = leak(lab)
    return facts


def evaluation(lab: Lab) -> dict[str, Any]:
    """What the engine's evaluation says in uneven batches, and the same from its predictions one by one."""
    tests, labels = len(lab.dataset.test_labels), np.asarray(lab.dataset.test_labels)
    spec = replace(lab.spec, global_batch=UNEVEN, per_replica_batch=UNEVEN // lab.spec.replicas)
    batches = evaluation_batches(lab.dataset, spec, lab.engine.shard)
    metrics = lab.engine.evaluate(batches, -(-tests // UNEVEN))
    chances = lab.engine.predict(np.asarray(lab.dataset.test_inputs)).astype(np.float64)
    loss = -np.log(chances[np.arange(tests), labels]).mean()
    return {
        "evaluated": [metrics.loss, metrics.scores[0]],
        "predicted": [float(loss), float((chances.argmax(1) == labels).mean())],
    }


def leak(lab: Lab) -> list[float]:
    """Work still to be waited for after an epoch, as a share of the epoch, in each of 5."""
    batch = 960 // lab.spec.replicas * lab.spec.replicas
    big = {"global_batch": batch, "per_replica_batch": batch // lab.spec.replicas}
    shares = []
    for epoch in range(1, 7):
        begun = time.perf_counter()
        lab.train(epoch, steps_per_epoch=2, **big)
        returned = time.perf_counter()
        lab.engine.weights()
        shares.append((time.perf_counter() - returned) / (returned - begun))
    return shares[1:]


def waits_of_xla(run: Callable) -> int:
    """How often `run` transfers from the device."""
    from torch_xla.debug import metrics

    before = metrics.metric_data("TransferFromDeviceTime")[0]
    run()
    return metrics.metric_data("TransferFromDeviceTime")[0] - before


def waits_of_tensorflow(run: Callable) -> int:
    """How often `run` reads a tensor's value on the host."""
    from tensorflow.python.framework import ops

    read = ops._EagerTensorBase._numpy
    with patch.object(ops._EagerTensorBase, "_numpy", autospec=True, side_effect=read) as reading:
        run()
    return reading.call_count


def compiled_by_xla(_: engines.Engine) -> int:
    """How many programs this process has compiled."""
    from torch_xla.debug import metrics

    return (metrics.metric_data("CompileTime") or (0,))[0]


# By engine: how many programs of an epoch there are by now. Eager PyTorch has none.
COMPILED: dict[str, Callable[[engines.Engine], int]] = {
    "torch_xla": compiled_by_xla,
    "tensorflow": lambda engine: engine._train_loop.experimental_get_tracing_count(),
    "jax": lambda engine: engine._train_step._cache_size(),
}
# Of PyTorch: accelerator/test_on_accelerator.py.
WAITS = {"torch_xla": waits_of_xla, "tensorflow": waits_of_tensorflow}


def main() -> None:
    """Run the program."""
    spec, manifest, folder, place = sys.argv[1:]
    meeting = Rendezvous(Path(place), Spec.from_json(spec).workers, timeout=120)
    lab = Lab(Spec.from_json(spec), data.load(Path(manifest), Path(folder)), meeting)
    everyone = meeting.meet("end", {"facts": contract(lab)})
    if meeting.rank == 0:
        text = json.dumps([each["facts"] for each in everyone])
        (Path(place) / "facts.json").write_text(text)


if __name__ == "__main__":
    main()
