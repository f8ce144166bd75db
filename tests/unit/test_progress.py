"""Progress: whole lines that name their run, and say how far, how fast, how good, how long."""

import re

from workspace import make_spec

from paragone.records.run_record import Epoch
from paragone.training import progress
from paragone.training.progress import Progress

SPEC = make_spec("fashion-cnn", "torch-xla", replicas=8, global_batch=1024, epochs=4, seed=3)
PREFIX = "[fashion-cnn torch-xla x8 seed 3] "


def row(epoch: int) -> Epoch:
    return Epoch(epoch, 0.1, 20, 8.0, None, 1.0, 0.8, 2.0, 1.0, test_accuracy=0.81236)


def test_epoch_line(capsys):
    shown = Progress(SPEC, steps=20)
    shown.epoch_done(row(1))
    shown.epoch_done(row(4))
    first, last = capsys.readouterr().out.splitlines()
    assert first == (PREFIX + "epoch 1/4: 2,560 examples/s, test accuracy 0.8124, 0:00:30 left")
    assert last.endswith("epoch 4/4: 2,560 examples/s, test accuracy 0.8124, 0:00:00 left")


def test_watching_passes_every_batch_and_is_silent_at_first(capsys):
    assert list(Progress(SPEC, 5).watch(1, iter("abcde"))) == list("abcde")
    assert capsys.readouterr().out == ""


def test_long_epoch_reports_itself(capsys, monkeypatch):
    """With a clock that moves 4 seconds a batch: one line every ten seconds and no more."""
    now = iter(range(0, 10_000, 4))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(now)))
    list(Progress(SPEC, 20).watch(2, range(20)))
    lines = capsys.readouterr().out.splitlines()
    assert 2 <= len(lines) < 19
    pattern = re.escape(PREFIX) + (
        r"epoch 2/4, step (\d+)/20: [\d,]+ examples/s, \d+:\d\d:\d\d left"
    )
    assert all(re.fullmatch(pattern, line) for line in lines)
