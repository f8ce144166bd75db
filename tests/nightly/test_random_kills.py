"""Trainers killed at random moments, again and again, end with the weights of one that was left alone."""

import json
import random
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from workspace import CELLS, environment, make_spec, succeed, train_command

from paragone.config.run_spec import Spec
from paragone.records import record, run_metrics

pytestmark = pytest.mark.nightly

KILLS = 6


def spec_of(backend: str, replicas: int) -> Spec:
    """Dropout, augmentation and momentum: draws and a state in every step."""
    spec = make_spec("wide-resnet", backend, replicas, batch=20, epochs=8, steps_per_epoch=2)
    model = {**spec.workload["model"], "dropout": 0.3}
    optimizer = {"name": "sgd", "momentum": 0.9}
    return replace(spec, workload={**spec.workload, "model": model, "optimizer": optimizer})


def model_of(folder: Path) -> dict:
    return json.loads((folder / "record.json").read_text())["model"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_killed_at_random_it_ends_alike(small, tmp_path, cell, seed):
    spec = spec_of(*cell)
    program = "launch" if spec.workers > 1 else "train"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    succeed(train_command(spec, small, whole, program), timeout=600)
    seconds = run_metrics.end_to_end(record.read(whole / "record.json"))
    draw = random.Random(seed)
    line = train_command(spec, small, killed, program)
    ended = 0
    for _ in range(KILLS):
        with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(draw.uniform(0.2, 1.1) * seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
                ended += 1
        if (killed / "record.json").exists():
            break
    assert ended > 0
    succeed(line, timeout=600)
    assert model_of(killed) == model_of(whole)
    left = {path.name for path in killed.iterdir()}
    assert left == {"predictions.npz", "record.json"}
