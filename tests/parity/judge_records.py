"""Train runs and take turns of a contest on wrong engines and loops; print by which rules they are refused.

    python judge_records.py <backend> <folder> <manifest> <data folder>

Prints one JSON object: by fault, the rules that its record breaks, of those on counts and clocks. The data
set has some thousand examples. What wrong_engines.py has besides, the parity gate refuses.
"""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import islice
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest
from make_contests import valid_contests
from msgspec import to_builtins
from msgspec.structs import replace
from parity.protocols import CONFIGURED
from parity.wrong_engines import (
    OF_LOOP,
    eight_steps,
    elsewhere,
    optimizer,
    padding_counts,
    wrapped,
)
from workspace import config_of, job

import participate
import train
from paragone import data
from paragone.analysis import compliance
from paragone.base import plugins
from paragone.base.typed_json import read_job, typed
from paragone.config.expand import spec_of
from paragone.config.run_spec import Spec
from paragone.config.schema import MatrixRow
from paragone.data import batches
from paragone.records import record
from paragone.records.contest_record import ContestsRecord
from paragone.training.loop import Ledger
from paragone.training.worker import join
from paragone.workers import RunJob
from paragone.workers.rendezvous import Rendezvous

STEPS = 20  # of a turn
LOOP = OF_LOOP["loop", "updates"] | OF_LOOP["loop", "evaluation"]
JUDGED = {"counted", "weighed", "clock-sum", "clock-epoch", "once"}


def half_of_the_batches(right: Callable, engine: Any, each: Any, steps: int) -> Any:
    return right(engine, islice(each, steps // 2), steps // 2)


# By fault what is planted.
OF_RUNS = {
    "nothing": lambda *_: None,
    "at-most-half-of-the-test-set": elsewhere(
        Spec, "tested_examples", lambda right, spec, there: right(spec, there) // 2
    ),
    "half-of-the-test-batches": wrapped("evaluate", half_of_the_batches),
    "padding-is-evaluated": wrapped("evaluate", padding_counts),
    "an-epoch-ends-early": wrapped("train_epoch", eight_steps),
    "gradients-of-two-batches": optimizer(accumulate=2),
    "only-half-is-drawn": elsewhere(
        batches, "epoch_order", lambda right, count, *rest: right(count, *rest) % (count // 2)
    ),
    **{
        name: LOOP[name]
        for name in (
            "one-order-for-all-epochs",
            "order-of-the-files",
            "labels-of-the-neighbors",
            "tested-on-training-images",
            "half-of-the-test-images",
        )
    },
}


class Trial:
    """Runs and contests of one specification in this process, each with files of its own."""

    def __init__(self, backend: str, folder: Path, manifest: str, data_folder: str) -> None:
        self.folder, self.number = folder, 0
        cell = MatrixRow(backend=backend, replicas=1, global_batch=64)
        spec = spec_of(config_of(CONFIGURED), "cosine", cell, "a test")
        self.spec = replace(spec, epochs=2, steps_per_epoch=None)
        self.places = {"manifest": manifest, "data_folder": data_folder, "threads": 1}
        self.engine = plugins.load("engines", spec.backend.engine).ENGINE
        dataset = data.load(manifest, data_folder)
        self.tests = [*batches.evaluation_batches(dataset, spec)]

    def job(self) -> RunJob:
        self.number += 1
        place = self.folder / str(self.number)
        names = {name: place / name for name in ("checkpoints", "record", "predictions")}
        self.document = job(spec=self.spec, **self.places, **names)
        return read_job(RunJob, self.document)

    def run(self) -> record.RunRecord:
        asked = self.job()
        train.main(self.document)
        return record.read(asked.record)

    def contest(self) -> ContestsRecord:
        """Take two turns."""
        here, there = Pipe()
        for steps in (STEPS, STEPS, 0):
            here.send_bytes(json.dumps(steps).encode())
        participate.take_turns(join(self.job(), Rendezvous(None, 1, 0), Ledger()), there)
        replies = [json.loads(here.recv_bytes()) for _ in range(4)]
        made = valid_contests({self.spec.backend.name: [[100.0, 100.0]]})
        (contest,) = made["contests"]
        contest["contestants"][0]["spec"] = to_builtins(self.spec)
        for window, reply in zip(contest["windows"], replies[1:3], strict=True):
            window |= {key: value for key, value in reply.items() if key != "type"}
        return typed(ContestsRecord, made)

    def evaluates_in_training(self, right: Callable, engine: Any, *arguments: Any) -> Any:
        """Evaluate a hundred times within the clock of training, far longer than a busy machine disturbs."""
        for _ in range(100):
            engine.evaluate(self.tests, len(self.tests))
        return right(engine, *arguments)


def main() -> None:
    """Run the program."""
    backend, folder, *places = sys.argv[1:]
    trial, broken = Trial(backend, Path(folder), *places), {}
    with redirect_stdout(sys.stderr):
        for name, plant in OF_RUNS.items():
            with pytest.MonkeyPatch.context() as patch:
                plant(patch, trial.engine)
                found = {one.rule for one in compliance.of_run(trial.run())}
            broken[name] = sorted(found & JUDGED)
        with pytest.MonkeyPatch.context() as patch:
            right = trial.run(), trial.contest()
            wrapped("train_epoch", trial.evaluates_in_training)(patch, trial.engine)
            pairs = {"timed-in-epochs": (trial.run(), right[1])}
            pairs["timed-in-turns"] = right[0], trial.contest()
        for name, (run, contests) in pairs.items():
            found = compliance.find("one", {Path("run"): run}, {Path("contests"): contests}, {})
            broken[name] = [one.file for one in found if one.rule == "pace"]
    print(json.dumps(broken))


if __name__ == "__main__":
    main()
