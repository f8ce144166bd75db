"""Runs of two steps whose records say how their first steps compare with the reference's."""

import hashlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from parity.probing import run_workers
from workspace import CONFIG, Arrays, call, changed, made_once, make_spec
from workspace import train_command as train

from paragone import data
from paragone.analysis import compliance
from paragone.config.engines import first_steps
from paragone.config.run_spec import Spec, Tuned
from paragone.parity.first_steps import reference
from paragone.records import record
from paragone.records.run_record import FirstSteps, RunRecord
from paragone.tasks import Task
from paragone.training.observe import write


class ShortRuns:
    """Runs on data sets by name; Fashion-MNIST has its first 2,000 images."""

    def __init__(self, arrays: dict[str, Arrays], factory: pytest.TempPathFactory) -> None:
        self._arrays = arrays
        self._factory = factory

    def first_steps(self, *cell: object, **options: object) -> FirstSteps | None:
        """What the record of a run says; the arguments are those of `record`."""
        return self.record(*cell, **options).first_steps

    def broken(self, backend: str, bug: str = "") -> set[str]:
        """The rules on counts that two replicas break."""
        found = compliance.of_run(self.record(backend, 2, "float32", bug=bug))
        return {one.rule for one in found} & {"counted", "weighed"}

    def record(
        self,
        backend: str,
        replicas: int,
        precision: str,
        workload: str = "fashion-cnn",
        global_batch: int = 64,
        tuned: dict | str = "",
        bug: str = "",
        task: Task | None = None,
        optimizer: dict | None = None,
        learning_rate: dict | None = None,
    ) -> RunRecord:
        """The record of a run. `bug`: the name of one of `OF_REPLICAS`, planted in the engine.

        Without dropout, whose draws differ between frameworks. `tuned`: "tuned" for such a run, or
        another block `tuned` than the config's. `task`, `optimizer`, `learning_rate`: others than
        the workload's.
        """
        if tuned == "tuned":
            tuned = CONFIG["backends"][backend]["tuned"]
        spec = make_spec(
            workload,
            backend,
            replicas,
            global_batch,
            epochs=1,
            steps_per_epoch=2,
            precision=precision,
            tuning=msgspec.convert(tuned or {}, Tuned),
        )
        if task:
            spec = replace(spec, workload=replace(spec.workload, task=task))
        if optimizer:
            spec = replace(spec, workload=replace(spec.workload, optimizer=optimizer))
        if learning_rate:
            spec = changed(spec, {"learning_rate": learning_rate})
        if spec.workload.dropout:
            spec = replace(spec, workload=spec.workload.with_model(dropout=0.0))
        arrays, folder = self._arrays[spec.workload.dataset], self._factory.mktemp("short_run")
        expected = self._expected(first_steps(spec))
        keys = {"first_steps": [expected]}
        line = train(spec, arrays, folder, "launch", **keys)
        if bug:
            line = train(spec, arrays, folder, **keys, rendezvous=folder)
            options = (backend, bug, line[-1])
            run_workers("train_wrong_engine.py", spec.workers, *options)
        else:
            # A variable that belongs to no tuning: no worker may see it.
            done = call(line, timeout=300, MALLOC_ARENA_MAX="3")
            assert done.returncode == 0, done.stdout + done.stderr
        made = record.read(folder / "record.json")
        if not bug:
            for process in made.processes:
                assert process.variables == spec.tuning.variables
        return made

    def _expected(self, spec: Spec) -> Path:
        """The file of the reference's first steps, made once for all processes."""
        arrays, text = self._arrays[spec.workload.dataset], spec.to_json()

        def make(folder: Path) -> None:
            folder.mkdir()
            dataset = data.load(arrays.manifest, arrays.folder)
            if spec.backend.engine == "reference":
                steps = reference(spec, dataset, None)
            else:  # a framework's plain form, whose devices a process sets once
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    steps = process.submit(reference, spec, dataset, None).result()
            write(steps, folder / "steps.npz")

        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return made_once(self._factory, f"steps-{digest}", make) / "steps.npz"
