"""The training loop, with an engine that only notes what it is asked to do; progress, targets, speed."""

import math
import os
import re
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from made_images import number_images
from make_records import make_process, make_record, typed, validated
from msgspec.structs import replace
from workspace import changed, make_spec

from paragone import engines
from paragone.base.engine_reports import Devices, Metrics, Modes
from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.data.batches import WHOLE, Shard, train_batches
from paragone.machine.activity import HostWatch
from paragone.records.run_metrics import epochs_speed, time_to_target
from paragone.records.run_record import Process
from paragone.training import counts, loop
from paragone.training.checkpoints import Checkpoints
from paragone.training.counts import Counts, Drawn
from paragone.training.loop import Ledger, Progress, TrainingRun, train

TRAINING, EVALUATION, SAVING = 10.0, 3.0, 0.5  # seconds that the engine takes


class Clock:
    """The time of a ledger, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Engine(engines.Engine):
    """Moves the clock by as much as it is said to take, and trains nothing."""

    shard = WHOLE

    def __init__(self, clock: Clock, kind: str = "cpu") -> None:
        self.clock = clock
        self.devices = Devices(kind, 1, 1)
        self.trained, self.peak = 0, 1

    def weights(self) -> dict[str, np.ndarray]:
        return {"0.dense.kernel": np.zeros((4, 3)), "0.dense.bias": np.zeros(3)}

    def snapshot(self) -> None:
        pass

    def restore(self, snapshot: None) -> None:
        self.peak += 100  # two copies of the state

    def warm_up(self, *_: object) -> None:
        self.peak += 100
        self.clock.now += 1

    def train_epoch(self, seed, learning_rates, batches, steps) -> Metrics:
        self.peak += 1
        self.clock.now += TRAINING
        self.trained += 1
        return Metrics(1.0, (0.5,), 1.0)

    def evaluate(self, batches, steps) -> Metrics:
        assert len(list(batches)) == steps
        self.clock.now += EVALUATION
        return Metrics(1.0, (0.5,), 1.0)

    def predict(self, inputs):
        return np.zeros((len(inputs), 3), np.float32)

    def updates(self) -> int:
        return self.trained

    def modes(self) -> Modes:
        return Modes("ieee", True, None)

    def reset_peak_memory(self) -> None:
        self.peak = 0

    def peak_device_memory(self) -> int:
        return self.peak

    def unsupported(self, error: Exception) -> bool:
        return "no deterministic kernel" in str(error)

    def save(self, folder) -> None:
        self.clock.now += SAVING


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("paragone.training.loop.time", made)
    monkeypatch.setattr("paragone.training.loop.age", lambda moment: 0.0)
    monkeypatch.setattr("paragone.machine.process_entry.age", lambda moment=None: 0.0)
    return made


def spec() -> Spec:
    return make_spec("fashion-conv", "torch", global_batch=10, epochs=3, steps_per_epoch=None)


def run(engine: Engine, folder, asked: Spec | None = None):
    """The outcome of training, and the ledger."""
    ledger = Ledger()
    checkpoints = Checkpoints(folder / "checkpoints", "context")
    processes = [msgspec.convert(make_process(1, "node-1", 0), Process)]
    state = {"ledger": ledger, "checkpoints": checkpoints, "processes": processes}
    state |= {"host": HostWatch([os.getpid()])}
    result = train(
        TrainingRun(
            engine=engine, spec=asked or spec(), dataset=number_images(), threads=1, **state
        )
    )
    return SimpleNamespace(outcome=result.record, ledger=ledger, peak=result.peak_device_bytes)


def test_each_second_is_on_its_own_clock(clock, tmp_path):
    """Training, evaluation and checkpoints; none after the last epoch."""
    made = run(Engine(clock), tmp_path)
    for row in made.outcome.epochs:
        assert (row.train_seconds, row.evaluate_seconds) == (TRAINING, EVALUATION)
    expected = {"train": 3 * TRAINING, "evaluate": 3 * EVALUATION, "checkpoint": 2 * SAVING}
    expected["compilation"] = 1.0
    assert {part: made.ledger.seconds[part] for part in expected} == expected
    assert made.peak == 3  # of the epochs: the warm-up holds a copy of the state


@pytest.mark.parametrize(("first_again", "right"), [(False, 24), (True, 1)])
def test_updates_and_batches_of_the_order_are_counted(first_again, right):
    images, updates = number_images(), [5]
    engine = SimpleNamespace(shard=WHOLE, updates=lambda: updates[0])
    counts = Counts(engine, spec(), images, 4, 24)
    batches = [*train_batches(images, spec(), 4, WHOLE, 24)]
    for _ in counts.over(batches[:1] * 24 if first_again else batches):
        updates[0] += 1
    assert (counts.updates, counts.batches) == (24, right)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(48, dtype=np.int32) % 10 - 1,  # of which -1 is ignored
        np.random.default_rng(0).random((48, 3), np.float32),
        np.random.default_rng(0).integers(0, 9, (48, 20, 20), np.int32),  # not all are summed
    ],
)
def test_the_digest_of_labels_is_of_their_order_whatever_the_number_of_workers(monkeypatch, labels):
    def digest(drawn: np.ndarray, workers: int) -> int:
        total = 0
        for rank in range(workers):
            shard = Shard(rank, rank + 1, workers)
            part = Drawn(shard, 12)
            batches = [shard.of(drawn[at : at + 12]) for at in range(0, len(drawn), 12)]
            assert len([*part.over((None, of_rank) for of_rank in batches)]) == len(batches)
            total += part.digest
        return total % counts.MODULUS

    expected = counts.label_sum(labels, 0) % counts.MODULUS
    assert {digest(labels, workers) for workers in (1, 2, 3)} == {expected}
    others = labels[::-1], np.roll(labels, 1, 0), labels[:36], np.concatenate([labels[:24]] * 2)
    assert expected not in {digest(other, 2) for other in others}
    monkeypatch.setattr(counts, "AT_ONCE", 100)
    assert digest(labels, 2) == expected


@pytest.mark.parametrize("make", [validated, lambda record: record])
def test_digests_of_workers_are_added_and_those_before_a_restart_are_not_known(make):
    (made,) = typed([make(make_record(epochs=2))])
    before, after = counts.combined([made.epochs, made.epochs], first=2)
    digests = ["order", "test_labels", *(["validation_labels"] if make is validated else [])]
    for key in digests:
        assert getattr(after, key) == 2 * getattr(made.epochs[1], key)
    for key in (*digests, "validation_labels"):
        assert getattr(before, key) is msgspec.UNSET


def test_other_devices_than_asked_for_are_refused(clock, tmp_path):
    engine = Engine(clock, kind="gpu")
    with pytest.raises(UserError, match=r"cpu.* asked for, but .*gpu.* observed"):
        run(engine, tmp_path)
    assert engine.trained == 0


@pytest.mark.parametrize(("stop", "epochs"), [(True, 2), (False, 3)])
def test_a_reached_target_ends_the_run_if_it_shall(clock, tmp_path, stop, epochs):
    asked = changed(spec(), {"target": {"accuracy": 0.5, "patience": 2, "stop": stop}})
    outcome = run(Engine(clock), tmp_path, asked=asked).outcome
    assert (outcome.status, len(outcome.epochs)) == ("completed", epochs)


def test_an_operation_without_a_kernel_ends_the_run_as_unsupported(clock, tmp_path):
    class Lacking(Engine):
        def train_epoch(self, *_: object) -> Metrics:
            raise RuntimeError("there is no deterministic kernel for this. Turn it off\nor wait")

    made = run(Lacking(clock), tmp_path)
    outcome = made.outcome
    assert outcome.status == "unsupported"
    assert outcome.reason == "there is no deterministic kernel for this"
    assert made.peak == 0
    (process,) = outcome.processes
    assert process.modes == Modes("ieee", True, None)


SPEC = make_spec("fashion-cnn", "torch-xla", replicas=8, global_batch=1024, epochs=4, seed=3)
PREFIX = "[fashion-cnn torch-xla x8 seed 3] "


def test_long_epoch_reports_itself(capsys, monkeypatch):
    """With a clock that moves 4 seconds a batch: one line every ten seconds and no more."""
    now = iter(range(0, 10_000, 4))
    monkeypatch.setattr(loop.time, "perf_counter", lambda: float(next(now)))
    list(Progress(SPEC, 20, 20_480).watch(2, range(20)))
    lines = capsys.readouterr().out.splitlines()
    assert 2 <= len(lines) < 19
    pattern = re.escape(PREFIX) + (
        r"epoch 2/4, step (\d+)/20: [\d,]+ examples/s, \d+:\d\d:\d\d left"
    )
    assert all(re.fullmatch(pattern, line) for line in lines)


# Time to target: the first of `patience` evaluations in a row at or above an accuracy


@pytest.mark.parametrize(
    ("accuracies", "patience", "interval"),
    [
        ([0.9, 0.7, 0.8, 0.7, 0.8, 0.8], 2, (40, 50)),
        ([0.8, 0.8, 0.1], 2, (0, 10)),
        ([0.7, 0.8, 0.8, 0.8], 3, (10, 20)),
        ([], 1, None),
        ([0.8, 0.7, 0.8], 2, None),
        ([math.nan], 1, None),
    ],
)
def test_time_to_target(accuracies, patience, interval):
    (made,) = typed([make_record(epochs=6, target=0.8, patience=patience)])
    pairs = zip(made.epochs, accuracies, strict=False)
    epochs = [replace(row, test_accuracy=score, train_seconds=10.0) for row, score in pairs]
    assert time_to_target(replace(made, epochs=epochs)) == interval


def test_the_speed_of_epochs_leaves_out_the_first_of_each_process():
    (made,) = typed([make_record(epochs=4, resumed_at=3, global_batch=100, steps_per_epoch=10)])
    seconds = [40.0, 2.0, 30.0, 3.0]
    pairs = zip(made.epochs, seconds, strict=True)
    epochs = [replace(row, train_seconds=spent) for row, spent in pairs]
    assert epochs_speed(replace(made, epochs=epochs)) == 2 * 1000 / 5
    assert epochs_speed(replace(made, epochs=epochs[:1])) is None
