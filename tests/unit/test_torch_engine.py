"""The PyTorch engine on a few made-up images: no trace, whole graphs, its feeds, its count of operations."""

import time
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from made_images import make_images
from torch import nn
from torch._dynamo.exc import Unsupported
from workspace import changed, make_spec

from paragone.base.errors import Unavailable, UserError
from paragone.config.run_spec import Spec
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines import InputClock
from paragone.engines import torch as eager
from paragone.engines.torch import PinnedFeed, Torch, count_flop
from paragone.engines.torch_compile import TorchCompile
from paragone.models.torch import MODELS

DATASET = make_images()


class Broken(nn.Module):
    """A model whose forward pass no compiler takes whole."""

    def __init__(self) -> None:
        super().__init__()
        self.classifier = nn.Linear(784, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return self.classifier(images.flatten(1))


def test_a_graph_that_breaks_is_an_error(monkeypatch):
    """A part that ran eager in silence would be timed as compiled."""
    monkeypatch.setitem(eager.MODELS, "fashion-conv", lambda shape, classes: Broken())
    spec = make_spec("fashion-conv", "torch-compile", 1, global_batch=4, steps_per_epoch=1)
    dataset, engine = make_images(), TorchCompile()
    engine.build(spec, dataset, 1)
    with pytest.raises(Unsupported, match="graph_break"):
        engine.train_epoch(0, [0.1], train_batches(dataset, spec, 1), 1)


def test_an_activation_that_no_model_has_is_refused():
    with pytest.raises(UserError, match=r"model\.activation: 'tanh' is none of relu, elu"):
        MODELS["fashion-conv"]((28, 28, 1), 10, activation="tanh")


# A multiplication and an addition for each weight and value. 28 x 28 x 1 -> 3 x 3 convolution of 64 ->
# 26 x 26 x 64 -> pooled to 13 x 13 x 64 -> dense 10.
CONVOLUTION, DENSE = 2 * 26 * 26 * 64 * (3 * 3 * 1), 2 * (13 * 13 * 64) * 10
POINTWISE, DEPTHWISE = 2 * 8 * 8 * 32, 2 * 8 * 8 * 32 * 9


def depthwise() -> nn.Module:
    """PyTorch's own formula would say 32 times as much for the gradients of the second layer."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Flatten()
    )


@pytest.mark.parametrize(
    ("create", "shape", "by_hand"),
    [
        (lambda: MODELS["fashion-conv"]((28, 28, 1), 10), (28, 28, 1), 2 * CONVOLUTION + 3 * DENSE),
        (depthwise, (8, 8, 1), 2 * POINTWISE + 3 * DEPTHWISE),
    ],
)
def test_forward_and_both_gradients_but_those_of_the_data(create, shape, by_hand):
    with torch.device("meta"):
        model = create()
    assert count_flop(model, shape).per_example == by_hand


def spec_of(feed: str) -> Spec:
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=4)
    return changed(spec, backend={"feed": feed})


def test_resident_inputs_are_rows_and_train_to_the_last_bit_as_copied_ones():
    trained = []
    for feed in ("resident", "batches"):
        spec, engine = spec_of(feed), Torch()
        engine.build(spec, DATASET, 1)
        engine.warm_up(0.01, *noise_batches(DATASET, spec))
        metrics = engine.train_epoch(0, [0.01] * 4, train_batches(DATASET, spec, 1), 4)
        tested = engine.evaluate(evaluation_batches(DATASET, spec), 1)
        weights = [values.tobytes() for values in engine.weights().values()]
        trained.append([metrics, tested, weights])
    assert trained[0] == trained[1]
    rows, labels = next(train_batches(DATASET, spec_of("resident"), 1))
    assert (rows.shape, rows.dtype) == ((16,), np.int64)
    copied = next(train_batches(DATASET, spec_of("batches"), 1))
    assert np.array_equal(DATASET.train_inputs[rows], copied[0])
    assert np.array_equal(labels, copied[1])


def test_pinned_memory_is_of_cuda():
    with pytest.raises(Unavailable, match="not for cpu"):
        Torch().build(spec_of("pinned"), DATASET, 1)


class Streams:
    """A stand-in for CUDA's streams on the CPU, which notes what happens in which order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        self.copies = 0
        patch.setattr(torch.cuda, "Stream", lambda device: self)
        patch.setattr(torch.cuda, "stream", nullcontext)
        patch.setattr(torch.cuda, "current_stream", lambda device: self)
        patch.setattr(torch.Tensor, "pin_memory", lambda tensor: self.note("pinned", tensor))
        patch.setattr(torch.Tensor, "record_stream", lambda *_: self.note("kept"))

    def note(self, event: str, result: object = None) -> object:
        self.events.append(event)
        return result

    def record_event(self) -> int:
        self.copies += 1
        return self.note(f"copy {self.copies}", self.copies)

    def wait_event(self, event: int) -> None:
        self.note(f"wait {event}")


def test_the_next_batch_is_copied_before_the_last_is_trained_on(monkeypatch):
    streams = Streams(monkeypatch)
    feed = PinnedFeed(torch.from_numpy, torch.device("cpu"))
    batches = [(np.full(2, number), np.full(2, -number)) for number in range(3)]
    trained = []
    for inputs, labels in feed(batches, "train"):
        streams.note(f"train {len(trained) + 1}")
        trained.append((inputs.tolist(), labels.tolist()))
    assert trained == [([n, n], [-n, -n]) for n in range(3)]
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
