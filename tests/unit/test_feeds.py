"""How batches get to a device: the same ones whatever the way, and one step ahead where that is promised."""

import time
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from made_images import make_images
from msgspec.structs import asdict
from workspace import CONFIG, make_spec

from paragone.base.errors import Unavailable, UserError
from paragone.config.expand import expand
from paragone.config.run_spec import Spec
from paragone.config.validate import validate
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines import InputClock
from paragone.engines.torch import PinnedFeed, Torch

DATASET = make_images()


def spec_of(feed: str) -> Spec:
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=4)
    return Spec(**asdict(spec) | {"backend": spec.backend | {"feed": feed}})


def trained(feed: str) -> tuple[dict[str, np.ndarray], list]:
    """Weights and metrics of a warm-up, an epoch and its evaluation."""
    spec, engine = spec_of(feed), Torch()
    engine.build(spec, DATASET, 1)
    engine.warm_up(0.01, *noise_batches(DATASET, spec))
    during = engine.train_epoch(0, 0.01, train_batches(DATASET, spec, 1), 4)
    return engine.weights(), [during, engine.evaluate(evaluation_batches(DATASET, spec), 1)]


def test_resident_inputs_train_to_the_last_bit_as_copied_ones():
    (weights, metrics), (expected, of_batches) = trained("resident"), trained("batches")
    assert metrics == of_batches
    assert all(np.array_equal(weights[name], values) for name, values in expected.items())


def test_a_batch_of_resident_inputs_is_rows():
    inputs, labels = next(train_batches(DATASET, spec_of("resident"), 1))
    assert (inputs.shape, inputs.dtype) == ((16,), np.int64)
    found = next(train_batches(DATASET, spec_of("batches"), 1))
    assert np.array_equal(DATASET.train_inputs[inputs], found[0])
    assert np.array_equal(labels, found[1])


def test_resident_inputs_cannot_be_augmented():
    config = {**CONFIG, "backends": {**CONFIG["backends"]}}
    config["backends"]["torch"] = {**CONFIG["backends"]["torch"], "feed": "resident"}
    cell = {"backend": "torch", "replicas": 1, "global_batch": 16}
    config["experiments"] = {"one": {"workload": "wide-resnet", "matrix": [cell]}}
    with pytest.raises(
        UserError, match=r"backends\.torch\.feed: resident inputs are not augmented"
    ):
        expand(config, "one")


def test_a_feed_that_an_engine_does_not_have_is_refused():
    changed = {**CONFIG["backends"]["jax"], "feed": "pinned"}
    config = {**CONFIG, "backends": {**CONFIG["backends"], "jax": changed}}
    with pytest.raises(UserError, match=r"backends\.jax\.feed: engine jax has batches alone"):
        validate(config)


def test_pinned_memory_is_of_cuda():
    with pytest.raises(Unavailable, match="not for cpu"):
        Torch().build(spec_of("pinned"), DATASET, 1)


class Streams:
    """A stand-in for CUDA's streams on the CPU, which notes what happens in which order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        self.begun = self.ended = 0
        patch.setattr(torch.cuda, "Stream", lambda device: self)
        patch.setattr(torch.cuda, "stream", self.within)
        patch.setattr(torch.cuda, "current_stream", lambda device: self)
        patch.setattr(torch.Tensor, "pin_memory", lambda tensor: self.pin(tensor))
        patch.setattr(torch.Tensor, "record_stream", lambda *_: self.events.append("kept"))

    @contextmanager
    def within(self, stream: Any):
        yield

    def pin(self, tensor: torch.Tensor) -> torch.Tensor:
        self.events.append("pinned")
        return tensor

    def record_event(self) -> int:
        self.begun += 1
        self.events.append(f"copy {self.begun}")
        return self.begun

    def wait_event(self, event: int) -> None:
        self.events.append(f"wait {event}")


def test_the_next_batch_is_copied_before_the_last_is_trained_on(monkeypatch):
    streams, device = Streams(monkeypatch), torch.device("cpu")
    feed = PinnedFeed(torch.from_numpy, device)
    batches = [(np.full(2, number), np.full(2, -number)) for number in range(3)]
    found = []
    for inputs, labels in feed(batches, "train"):
        streams.events.append(f"train {len(found) + 1}")
        found.append((inputs.tolist(), labels.tolist()))
    assert found == [([n, n], [-n, -n]) for n in range(3)]
    order = [event for event in streams.events if event not in ("pinned", "kept")]
    assert order == [
        *("copy 1", "copy 2", "wait 1", "train 1", "copy 3", "wait 2", "train 2"),
        *("wait 3", "train 3"),
    ]
    assert streams.events.count("pinned") == streams.events.count("kept") == 6


def test_the_input_clock_counts_drawing_and_not_training():
    def drawn():
        for number in range(3):
            time.sleep(0.02)
            yield (number,)

    clock, begin = InputClock(), time.perf_counter()
    for _ in clock.over(drawn()):
        time.sleep(0.05)
    assert 0.06 <= clock.seconds <= time.perf_counter() - begin - 0.15
