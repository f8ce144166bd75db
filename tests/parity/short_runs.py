"""Runs of two steps whose records say how their first steps compare with the reference's."""

import os
import sys
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from workspace import CONFIG, ROOT, Arrays, call, command, environment, make_spec, succeed
from workspace import train_command as train

from paragone.config.expand import first_steps
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_record import FirstSteps
from paragone.workers import supervisor


class ShortRuns:
    """Runs on the first 2,000 images of Fashion-MNIST, or on another data set of `data_of`."""

    def __init__(self, small: Arrays, data_of: dict[str, Arrays], folder: Path) -> None:
        self._arrays = {**data_of, "fashion_mnist": small}
        self._folder = folder
        self._taken = 0
        self.expected = cache(self._expected)

    def spec(
        self,
        backend: str,
        replicas: int = 2,
        precision: str = "float32",
        tuned: bool = False,
        workload: str = "fashion-cnn",
        global_batch: int = 256,
    ) -> Spec:
        """The specification of a run; without dropout, whose draws differ between frameworks."""
        changes: dict = {"epochs": 1, "steps_per_epoch": 2, "precision": precision}
        changes["tuning"] = CONFIG["backends"][backend]["tuned"] if tuned else {}
        spec = make_spec(workload, backend, replicas, global_batch, **changes)
        if "dropout" in spec.workload["model"]:
            model = {**spec.workload["model"], "dropout": 0.0}
            spec = replace(spec, workload={**spec.workload, "model": model})
        return spec

    def _expected(self, text: str) -> Path:
        """The file of the reference's first steps."""
        arrays = self._arrays[Spec.from_json(text).workload["dataset"]]
        output = self._new_folder() / "steps.npz"
        options = {"manifest": arrays.manifest, "data_folder": arrays.folder}
        succeed(command("take_first_steps", spec=text, output=output, **options), timeout=300)
        return output

    def _new_folder(self) -> Path:
        self._taken += 1
        folder = self._folder / str(self._taken)
        folder.mkdir()
        return folder

    def _command(self, spec: Spec, folder: Path, program: str) -> list[str]:
        steps = self.expected(first_steps(spec).to_json())
        arrays = self._arrays[spec.workload["dataset"]]
        return train(spec, arrays, folder, program, first_steps=steps)

    def first_steps(self, backend: str, *cell: object, **options: object) -> FirstSteps:
        """What the record of a run says; for the arguments see `spec`."""
        spec, folder = self.spec(backend, *cell, **options), self._new_folder()
        # A variable that belongs to no tuning: no worker may see it.
        done = call(self._command(spec, folder, "launch"), timeout=300, MALLOC_ARENA_MAX="3")
        assert done.returncode == 0, done.stdout + done.stderr
        made = record.read(folder / "record.json")
        for process in made.processes:
            assert process.variables == spec.tuning.get("variables", {})
        return made.first_steps

    def first_steps_of_wrong_engine(self, backend: str, name: str) -> FirstSteps:
        """The same of an engine with a bug of `OF_REPLICAS`."""
        spec, folder = self.spec(backend), self._new_folder()
        program = str(Path(__file__).with_name("train_wrong_engine.py"))
        options = self._command(spec, folder, "train")[2:]
        line = [sys.executable, program, backend, name, *options, f"--rendezvous={folder}"]
        paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
        with pytest.MonkeyPatch.context() as patch:
            for key, value in environment(PYTHONPATH=paths).items():
                patch.setenv(key, value)
            children = supervisor.start(line, spec.workers)
        failed = supervisor.first_to_fail(children)
        supervisor.end(children)
        assert failed is None, failed.tails
        return record.read(folder / "record.json").first_steps
