"""Observe one backend with one number of replicas: a program, since a process sets its devices once.

    python observe_engine.py <backend> <replicas> <output.npz> <workload>=<manifest>=<data folder>...

Writes arrays "<workload>/<series>/<weight>" and a JSON text "facts" with one object a workload.
"""

import json
import sys
import time
from pathlib import Path
from threading import Thread

import numpy as np
from msgspec.structs import replace
from workspace import make_spec

from paragone import data, engines
from paragone.base import engine_reports
from paragone.config.run_spec import Spec
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.models.weights import digest, initial

BATCH, STEPS, EPOCHS = 64, 5, 2
SHORT = {"mobilenet-v2": 2, "wide-resnet": 2}  # steps of the deep ones
UNEVEN = 768  # divides over 4 replicas, does not divide 10,000


class Lab:
    """One workload on one backend, built as often as asked for."""

    def __init__(self, workload: str, backend: str, replicas: int, dataset: data.Dataset) -> None:
        steps = SHORT.get(workload, STEPS)
        self.spec = make_spec(workload, backend, replicas, BATCH, steps_per_epoch=steps)
        self.dataset = dataset

    def fresh(self) -> engines.Engine:
        """A new engine on the initial weights."""
        engine = engines.create(self.spec)
        engine.build(self.spec, self.dataset, threads=2)
        engine.set_weights(self.initial(engine))
        return engine

    def initial(self, engine: engines.Engine) -> dict:
        shapes = {name: values.shape for name, values in engine.weights().items()}
        return initial(shapes, self.spec, None)[0]

    def train(
        self, engine: engines.Engine, epoch: int, spec: Spec | None = None
    ) -> engine_reports.Metrics:
        """One epoch of this specification, or of another batch and length."""
        spec = spec or self.spec
        batches = train_batches(self.dataset, spec, epoch, engine.shard)
        seed = framework_seed(spec.seed, epoch)
        return engine.train_epoch(seed, spec.learning_rate(epoch), batches, spec.steps_per_epoch)

    def plain_and_warmed(self) -> tuple[dict, dict]:
        """Weights and metrics of the same epochs without and with a warm-up before them."""
        series, facts = {}, {}
        for name in ("plain", "warmed"):
            engine = self.fresh()
            if name == "warmed":
                noise = noise_batches(self.dataset, self.spec, engine.shard)
                engine.warm_up(self.spec.learning_rate(1), *noise)
                facts["after_warm_up"] = digest(engine.weights())
                facts["initial"] = digest(self.initial(engine))
            metrics = [self.train(engine, epoch) for epoch in range(1, EPOCHS + 1)]
            facts[f"{name}_metrics"] = [[one.loss, one.accuracy] for one in metrics]
            series[name] = engine.weights()
        self.engine = engine
        return series, facts

    def evaluation(self) -> dict:
        """What the engine's evaluation says, and the same from its predictions one by one."""
        tests = len(self.dataset.test_labels)
        spec = replace(self.spec, global_batch=UNEVEN, per_replica_batch=UNEVEN)
        batches = evaluation_batches(self.dataset, spec, self.engine.shard)
        found = self.engine.evaluate(batches, -(-tests // UNEVEN))
        chances = self.engine.predict(np.asarray(self.dataset.test_inputs))
        labels = np.asarray(self.dataset.test_labels)
        return {
            "evaluated": [found.loss, found.accuracy],
            "correct": int((chances.argmax(1) == labels).sum()),
            "loss": float(-np.log(chances[np.arange(tests), labels].astype(np.float64)).mean()),
        }

    def leak(self, engine: engines.Engine) -> list[float]:
        """Work still to be waited for after an epoch, as a share of the epoch, in each of 5."""
        shares = []
        big = replace(self.spec, global_batch=1000, per_replica_batch=1000, steps_per_epoch=2)
        self.train(engine, 1, big)
        engine.weights()
        for epoch in range(2, 7):
            begun = time.perf_counter()
            self.train(engine, epoch, big)
            returned = time.perf_counter()
            engine.weights()
            shares.append((time.perf_counter() - returned) / (returned - begun))
        return shares


class Late:
    """An engine that returns from training before its work is done, as none may."""

    def __init__(self, engine: engines.Engine) -> None:
        self.engine = engine
        self.shard = engine.shard

    def train_epoch(self, *arguments: object) -> None:
        self.work = Thread(target=self.engine.train_epoch, args=arguments)
        self.work.start()

    def weights(self) -> dict:
        self.work.join()
        return self.engine.weights()


def main() -> None:
    """Run the program."""
    backend, replicas, output, *named = sys.argv[1:]
    arrays, facts = {}, {}
    for name in named:
        workload, manifest, folder = name.split("=")
        lab = Lab(workload, backend, int(replicas), data.load(manifest, folder))
        series, facts[workload] = lab.plain_and_warmed()
        for name, weights in series.items():
            arrays |= {f"{workload}/{name}/{key}": values for key, values in weights.items()}
        facts[workload]["replicas"] = lab.engine.devices.replicas
        if workload == "fashion-cnn":
            facts[workload] |= lab.evaluation()
        elif workload == "fashion-conv" and replicas == "1":
            facts[workload]["leak"] = lab.leak(lab.engine)
            if backend == "torch":
                facts[workload]["leak_of_a_late_engine"] = lab.leak(Late(lab.engine))
    np.savez(Path(output), facts=np.array(json.dumps(facts)), **arrays)


if __name__ == "__main__":
    main()
