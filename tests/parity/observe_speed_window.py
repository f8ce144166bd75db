"""One worker that trains an epoch and then its speed window.

    python observe_speed_window.py <spec> <manifest> <data folder> <rendezvous folder>

Writes <rank>.json to the rendezvous folder: digests of the full state before and after the window, its
steps, and how many programs were compiled in its epochs.
"""

import json
import os
import sys
from pathlib import Path

from observe_windows import TOOLS, state
from observe_workers import start

from paragone import data, engines
from paragone.config.run_spec import Spec
from paragone.data.batches import noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.machine.activity import HostWatch
from paragone.records.run_record import Epoch
from paragone.training.clocks import Ledger
from paragone.training.speed_window import SpeedWindow
from paragone.workers.rendezvous import Rendezvous


def main() -> None:
    """Run the program."""
    text, manifest, folder, place = sys.argv[1:]
    spec, dataset = Spec.from_json(text), data.load(Path(manifest), Path(folder))
    meeting = Rendezvous(Path(place), spec.workers, timeout=120)
    world = meeting.join()
    engine = engines.create(spec)
    engine.build(spec, dataset, 1, world)
    start(engine, spec)
    rate = spec.learning_rate(1)
    engine.warm_up(rate, *noise_batches(dataset, spec, engine.shard))
    batches = train_batches(dataset, spec, 1, engine.shard)
    engine.train_epoch(framework_seed(spec.seed, 1), rate, batches, spec.steps_per_epoch)
    read, _, _, compilations = TOOLS[spec.backend["engine"]]
    before = state(engine, read)
    compiled = []
    train_epoch = engine.train_epoch

    def counted(*arguments: object) -> object:
        programs = compilations(engine)
        metrics = train_epoch(*arguments)
        compiled.append(compilations(engine) - programs)
        return metrics

    engine.train_epoch = counted
    last = Epoch(
        epoch=1,
        learning_rate=rate,
        steps=1,
        train_seconds=0.1 * (1 + world.rank),
        input_seconds=None,
        train_loss=1.0,
        train_accuracy=0.0,
        evaluate_seconds=0.0,
        test_loss=1.0,
        test_accuracy=0.0,
    )
    window, _ = SpeedWindow(0.3, 60.0, meeting).measure(
        engine, spec, dataset, last, Ledger(), HostWatch([os.getpid()])
    )
    facts = {"before": before, "after": state(engine, read), "compiled": sum(compiled)}
    facts["steps"] = [one.steps for one in window]
    (Path(place) / f"{world.rank}.json").write_text(json.dumps(facts))
    meeting.meet("end", {})


if __name__ == "__main__":
    main()
