"""The training loop, with an engine that only notes what it is asked to do; progress, targets, window."""

import math
import os
import re
from itertools import islice
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from made_images import number_images
from make_records import make_record, typed
from msgspec.structs import astuple, replace
from unit.make_processes import make_process
from workspace import changed, make_spec

from paragone import engines
from paragone.base.engine_reports import Devices, Metrics, Modes
from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.data.batches import WHOLE, train_batches
from paragone.data.random_streams import epoch_order, framework_seed
from paragone.machine.activity import HostWatch
from paragone.records.run_metrics import Target, steady, time_to_target
from paragone.records.run_record import Process, Timed
from paragone.training import progress, speed_window
from paragone.training.checkpoints import Checkpoints
from paragone.training.clocks import Ledger
from paragone.training.loop import Run, train
from paragone.training.progress import Progress
from paragone.training.speed_window import SpeedWindow, plan
from paragone.workers.rendezvous import Rendezvous

TRAINING, EVALUATION, SAVING = 10.0, 3.0, 0.5  # seconds that the engine takes


class Clock:
    """The time of a ledger, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Engine(engines.Engine):
    """`losses`: of the epochs, in turn; the run stops with an error after as many."""

    shard = WHOLE

    def __init__(self, clock: Clock, losses: list[float], kind: str = "cpu") -> None:
        self.clock, self.losses = clock, list(losses)
        self.devices = Devices(kind, 1, 1)
        self.trained: list[tuple] = []
        self.peak = 1

    def weights(self) -> dict[str, np.ndarray]:
        return {"0.dense.kernel": np.zeros((4, 3)), "0.dense.bias": np.zeros(3)}

    def snapshot(self) -> list:
        return [*self.trained]

    def restore(self, snapshot: list) -> None:
        self.peak += 100  # two copies of the state
        self.restored = snapshot

    def warm_up(self, *_: object) -> None:
        self.peak += 100
        self.clock.now += 1

    def train_epoch(self, seed, learning_rates, batches, steps) -> Metrics:
        self.peak, self.input = self.peak + 1, TRAINING / 2
        first = next(iter(batches))[1]
        self.clock.now += TRAINING
        self.trained.append((seed, learning_rates, first.tolist(), steps))
        return Metrics(self.losses.pop(0), 0.5)

    def evaluate(self, batches, steps) -> Metrics:
        self.input = 0.0  # of this pass
        assert len(list(batches)) == steps
        self.clock.now += EVALUATION
        return Metrics(1.0, 0.5)

    def predict(self, inputs):
        return np.zeros((len(inputs), 3), np.float32)

    def updates(self) -> int:
        return len(self.trained)

    def input_seconds(self) -> float:
        return self.input

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
    monkeypatch.setattr("paragone.training.clocks.time", made)
    monkeypatch.setattr("paragone.training.clocks.age", lambda moment: 0.0)
    monkeypatch.setattr("paragone.machine.process_entry.age", lambda moment=None: 0.0)
    return made


def spec(**changes) -> Spec:
    made = make_spec(
        "fashion-conv", "torch", global_batch=10, epochs=3, steps_per_epoch=None, **changes
    )
    rate = {"base": 0.1, "decay": [{"after": 2, "factor": 0.5}]}
    return changed(made, {"learning_rate": rate})


def run(engine: Engine, folder, asked: Spec | None = None, window: float = 0):
    """The outcome of training, and the ledger. `window`: seconds of the speed window."""
    ledger = Ledger()
    checkpoints = Checkpoints(folder / "checkpoints", "context")
    processes = [msgspec.convert(make_process(1, "node-1", 0, "c" * 64), Process)]
    in_the_end = SpeedWindow(window, 1000.0, Rendezvous(None, 1, 0)) if window else None
    state = {"ledger": ledger, "checkpoints": checkpoints, "processes": processes}
    state |= {"host": HostWatch([os.getpid()]), "speed_window": in_the_end}
    result = train(
        Run(engine=engine, spec=asked or spec(), dataset=number_images(), threads=1, **state)
    )
    return SimpleNamespace(outcome=result.record, ledger=ledger, peak=result.peak_device_bytes)


def test_each_epoch_has_its_seed_rate_and_order(clock, tmp_path):
    engine = Engine(clock, [1.0, 1.0, 1.0])
    outcome = run(engine, tmp_path).outcome
    seed = spec().seed
    assert engine.trained == [
        (framework_seed(seed, epoch), [rate] * 10, epoch_order(100, seed, epoch)[:10].tolist(), 10)
        for epoch, rate in ((1, 0.1), (2, 0.1), (3, 0.05))
    ]
    assert [row.learning_rate for row in outcome.epochs] == [0.1, 0.1, 0.05]
    assert outcome.status == "completed"


def test_each_second_is_on_its_own_clock(clock, tmp_path):
    """Training, evaluation and checkpoints; none after the last epoch."""
    made = run(Engine(clock, [1.0, 1.0, 1.0]), tmp_path)
    for row in made.outcome.epochs:
        assert (row.train_seconds, row.evaluate_seconds) == (TRAINING, EVALUATION)
        assert row.input_seconds == TRAINING / 2
    expected = {"train": 3 * TRAINING, "evaluate": 3 * EVALUATION, "checkpoint": 2 * SAVING}
    expected["compilation"] = 1.0
    assert {part: made.ledger.seconds[part] for part in expected} == expected


def test_a_resumed_run_goes_on_where_it_stopped(clock, tmp_path):
    """The first epoch of each process is none of the steady ones; time goes on from the checkpoint."""
    interrupted = Engine(clock, [1.0, 1.0])
    with pytest.raises(IndexError):
        run(interrupted, tmp_path)
    resumed = Engine(clock, [1.0])
    made = run(resumed, tmp_path)
    rows = made.outcome.epochs
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert made.ledger.seconds["train"] == 3 * TRAINING
    assert [one.first_epoch for one in made.outcome.processes] == [1, 3]
    assert [len(one.epochs) for one in made.outcome.processes] == [2, 1]
    assert resumed.trained[0][0] == framework_seed(spec().seed, 3)


def test_a_completed_run_trains_on_in_its_speed_window(clock, tmp_path):
    """On its own clock, with data of its own and the last learning rate; then the state is restored."""
    engine = Engine(clock, [1.0] * 9)
    made = run(engine, tmp_path, window=60.0)
    window = made.outcome.window
    assert [one.steps for one in window] == [3, 24, 3, 3, 24, 3]
    assert {one.seconds for one in window} == {TRAINING}
    assert made.ledger.seconds["window"] == 6 * TRAINING
    (process,) = made.outcome.processes
    assert [len(part) for part in (process.epochs, process.window)] == [3, 6]
    assert made.ledger.seconds["train"] == 3 * TRAINING
    assert made.peak == 3  # of the epochs: warm-up and window hold a copy of the state
    assert engine.restored == engine.trained[:3]
    assert engine.trained[3:] == [
        (
            framework_seed(0, epoch),
            [0.05] * one.steps,
            epoch_order(100, 0, epoch)[:10].tolist(),
            one.steps,
        )
        for epoch, one in enumerate(window, start=4)
    ]


class Thorough(Engine):
    """Takes every step, and draws every batch; `steps`: at most so many of an epoch."""

    def __init__(self, clock: Clock, steps: int = 1000) -> None:
        super().__init__(clock, [1.0] * 9)
        self.steps, self.taken = steps, 0

    def train_epoch(self, seed, learning_rates, batches, steps) -> Metrics:
        first, *others = islice(batches, self.steps)
        self.taken += 1 + len(others)
        return super().train_epoch(seed, learning_rates, [first], steps)

    def updates(self) -> int:
        return self.taken


def first_again(dataset, spec, epoch, shard, steps):
    return [next(train_batches(dataset, spec, epoch, shard, steps))] * steps


@pytest.mark.parametrize(
    ("most", "window_batches", "updates", "batches"),
    [
        (1000, train_batches, [3, 24, 3, 3, 24, 3], [3, 24, 3, 3, 24, 3]),
        (8, train_batches, [3, 8, 3, 3, 8, 3], [3, 8, 3, 3, 8, 3]),  # an epoch that ends early
        (1000, first_again, [3, 24, 3, 3, 24, 3], [1] * 6),
    ],
)
def test_a_window_counts_updates_and_batches(
    clock, tmp_path, monkeypatch, most, window_batches, updates, batches
):
    monkeypatch.setattr(speed_window, "train_batches", window_batches)
    window = run(Thorough(clock, most), tmp_path, window=60.0).outcome.window
    assert [one.steps for one in window] == [3, 24, 3, 3, 24, 3]
    assert [one.updates for one in window] == updates
    assert [one.batches for one in window] == batches


@pytest.mark.parametrize("loss", [math.nan, math.inf, 1e7])
def test_a_loss_without_bounds_ends_the_run_without_a_speed_window(clock, tmp_path, loss):
    made = run(Engine(clock, [1.0, loss]), tmp_path, window=60.0)
    assert made.outcome.status == "diverged"
    assert "epoch 2" in made.outcome.reason
    assert (len(made.outcome.epochs), made.outcome.window) == (2, [])
    assert made.ledger.seconds["window"] == 0


def test_other_devices_than_asked_for_are_refused(clock, tmp_path):
    engine = Engine(clock, [], kind="gpu")
    with pytest.raises(UserError, match=r"cpu.* asked for, but .*gpu.* observed"):
        run(engine, tmp_path)
    assert engine.trained == []


@pytest.mark.parametrize(("stop", "epochs"), [(True, 2), (False, 3)])
def test_a_reached_target_ends_the_run_if_it_shall(clock, tmp_path, stop, epochs):
    asked = changed(spec(), {"target": {"accuracy": 0.5, "patience": 2, "stop": stop}})
    outcome = run(Engine(clock, [1.0] * 3), tmp_path, asked=asked).outcome
    assert (outcome.status, len(outcome.epochs)) == ("completed", epochs)


def test_an_operation_without_a_kernel_ends_the_run_as_unsupported(clock, tmp_path):
    class Lacking(Engine):
        def train_epoch(self, *_: object) -> Metrics:
            raise RuntimeError("there is no deterministic kernel for this. Turn it off\nor wait")

    made = run(Lacking(clock, []), tmp_path)
    outcome = made.outcome
    assert outcome.status == "unsupported"
    assert outcome.reason == "there is no deterministic kernel for this"
    assert made.peak == 0
    (process,) = outcome.processes
    assert process.modes == Modes("ieee", True, None)


SPEC = make_spec("fashion-cnn", "torch-xla", replicas=8, global_batch=1024, epochs=4, seed=3)
PREFIX = "[fashion-cnn torch-xla x8 seed 3] "


def test_watching_passes_every_batch_and_is_silent_at_first(capsys):
    assert list(Progress(SPEC, 5, 5120).watch(1, iter("abcde"))) == list("abcde")
    assert capsys.readouterr().out == ""


def test_the_first_steps_after_a_long_warm_up_have_no_speed_yet(capsys, monkeypatch):
    # Made, then begun a minute later.
    now = iter([0.0, 60.0, *(60 + step / 1000 for step in range(20))])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    list(Progress(SPEC, 20, 20_480).watch(1, range(20)))
    assert capsys.readouterr().out == ""


def test_long_epoch_reports_itself(capsys, monkeypatch):
    """With a clock that moves 4 seconds a batch: one line every ten seconds and no more."""
    now = iter(range(0, 10_000, 4))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(now)))
    list(Progress(SPEC, 20, 20_480).watch(2, range(20)))
    lines = capsys.readouterr().out.splitlines()
    assert 2 <= len(lines) < 19
    pattern = re.escape(PREFIX) + (
        r"epoch 2/4, step (\d+)/20: [\d,]+ examples/s, \d+:\d\d:\d\d left"
    )
    assert all(re.fullmatch(pattern, line) for line in lines)


# Time to target: the first of `patience` evaluations in a row at or above an accuracy


def target(accuracies: list[float], patience: int = 2) -> Target:
    """The time to target of test accuracies of epochs that take 10 seconds each."""
    (made,) = typed([make_record(epochs=6, target=0.8, patience=patience)])
    pairs = zip(made.epochs, accuracies, strict=False)
    epochs = [replace(row, test_accuracy=found, train_seconds=10.0) for row, found in pairs]
    return time_to_target(replace(made, epochs=epochs))


@pytest.mark.parametrize(
    ("accuracies", "patience", "epoch", "interval"),
    [
        ([0.8], 1, 1, (0, 10)),
        ([0.9, 0.7, 0.8, 0.7, 0.8, 0.8], 2, 5, (40, 50)),
        ([0.8, 0.8, 0.1], 2, 1, (0, 10)),
        ([0.7, 0.8, 0.8, 0.8], 3, 2, (10, 20)),
    ],
)
def test_target_reached(accuracies, patience, epoch, interval):
    found = target(accuracies, patience)
    assert (found.reached, found.epoch) == (True, epoch)
    assert (found.last_miss, found.first_hit) == interval


@pytest.mark.parametrize(
    ("accuracies", "patience"),
    [([], 1), ([0.79], 1), ([0.8], 2), ([0.8, 0.7, 0.8], 2), ([0.8, 0.8], 3), ([math.nan], 1)],
)
def test_target_missed_is_censored(accuracies, patience):
    assert target(accuracies, patience) == Target(
        "accuracy", 0.8, patience, False, None, None, None
    )


# The speed window: what is planned, and the rate and constant that follow


TIMED = make_spec("fashion-conv", "torch", global_batch=100)


def measured(lengths: list[int], constant: float, step: float) -> list[Timed]:
    return [Timed(steps, constant + steps * step) for steps in lengths]


def played(constant: float, step: float, expected: float, limit: float = 60.0) -> list[Timed]:
    """All epochs of a window on a machine of this speed; `expected`: seconds of a step in training."""
    window: list[Timed] = []
    while lengths := plan(window, expected, 5.0, limit):
        window += measured(lengths, constant, step)
        expected = sum(each.seconds for each in window) / sum(each.steps for each in window)
    return window


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (measured([3, 24, 3], 0.2, 0.01), (3, 30, 3000, 0.9, 1e4, 0.2)),
        # Epochs of one length, and longer ones that were faster: the rate of all, and no constant.
        ([Timed(2, 1.0)], (1, 2, 200, 1.0, 200, None)),
        ([Timed(1, 0.75), Timed(3, 0.25)], (2, 4, 400, 1.0, 400, None)),
    ],
)
def test_rate_and_constant_are_told_apart(window, expected):
    assert astuple(steady(window, TIMED)) == pytest.approx(expected)
    assert steady([], TIMED) is None


@pytest.mark.parametrize("expected", [0.5, 1, 4])
@pytest.mark.parametrize("constant", [0, 0.03])
@pytest.mark.parametrize(
    ("step", "limit"),
    [*((step, 60.0) for step in (1e-4, 0.013, 0.24, 0.3, 2.9)), (0.013, 5.0), (0.1, 5.0)],
)
def test_a_window_is_long_enough_and_little_longer(constant, step, limit, expected):
    """However far off the first guess is, between half of a step's time and four times."""
    window = played(constant, step, step * expected, limit)
    spent, steps = math.fsum(each.seconds for each in window), sum(each.steps for each in window)
    assert steps >= 20
    assert 5 <= spent < max(12, 30 * step)
    assert len({each.steps for each in window}) > 1
    assert steady(window, TIMED).constant_seconds == pytest.approx(constant, abs=1e-9)


def test_the_first_plan_favors_neither_length_on_a_machine_that_slows_down():
    middles, done = {}, 0
    for steps in plan([], 0.01, 5.0, 60.0):
        middles.setdefault(steps, []).append(done + steps / 2)
        done += steps
    short, long = (sum(times) / len(times) for times in middles.values())
    assert short == long
    assert done == 500


def test_a_slow_step_is_stopped_by_the_limit():
    assert sum(each.steps for each in played(0, 5.0, 5.0)) == 12
    assert [each.steps for each in played(0, 100.0, 100.0)] == [1]
