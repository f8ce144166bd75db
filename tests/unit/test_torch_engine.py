"""The PyTorch engine on a few made-up images: whole graphs, feeds, its count of FLOP; optimizers; models."""

import copy
import time
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_images import make_images
from paragone.models.d2l_enlarging import between
from PIL import Image
from torch import nn
from torch._dynamo.exc import Unsupported
from torchvision.transforms import functional
from workspace import changed, make_spec

from paragone.base.errors import Unavailable, UserError
from paragone.config.run_spec import Spec
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines import InputClock, torch_optimizers
from paragone.engines import torch as eager
from paragone.engines.torch import PinnedFeed, Torch
from paragone.engines.torch_compile import TorchCompile
from paragone.engines.torch_optimizers import create_optimizer
from paragone.models import create_model
from paragone.models.torch import MODELS
from paragone.parity import flop

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
    assert flop.count(model, shape) == by_hand


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


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float64"])
def test_layers_compute_in_the_precision_of_the_run(precision):
    """The tests of first steps did not see a float32 run that computed in bfloat16, nor the reverse."""
    spec, engine = changed(spec_of("batches"), precision=precision), Torch()
    engine.build(spec, DATASET, 1)
    seen = set()
    for layer in engine.model:
        layer.register_forward_hook(lambda _, inputs, output: seen.add(str(output.dtype)))
    engine.forward(torch.zeros((4, *DATASET.train_inputs.shape[1:]), dtype=torch.uint8))
    assert f"torch.{precision}" in seen
    assert precision == "bfloat16" or len(seen) == 1


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


RATE, BETA_1, BETA_2, EPSILON = 0.1, 0.9, 0.999, 1e-7
ADAM = {"name": "adam", "beta_1": BETA_1, "beta_2": BETA_2, "epsilon": EPSILON}
NADAM = {**ADAM, "name": "nadam"}


@pytest.fixture
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def create(options: dict, model: nn.Module, **tuned: bool) -> torch.optim.Optimizer:
    cpu = torch.device("cpu")
    optimizer = create_optimizer(options, model, cpu, lambda squares, _: squares, **tuned)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    return optimizer


def test_a_loaded_state_counts_steps_in_the_precision_of_the_weights(double_precision):
    """PyTorch rounds the count of an optimizer on a device, and with it 1 - beta_2^t, to single precision."""
    optimizer = create({**NADAM, "deduplicate": True}, nn.Linear(1, 1))
    optimizer.param_groups[0]["capturable"] = True
    torch_optimizers.load_state(optimizer, copy.deepcopy(optimizer.state_dict()))
    assert {value.dtype for own in optimizer.state.values() for value in own.values()} == {
        torch.float64
    }


IMAGES = np.random.default_rng(0).integers(256, size=(3, 28, 28), dtype=np.uint8)


def test_eager_gpt_has_the_attention_of_pytorch():
    """Written out, as it is for a compiler in double precision, a step takes a tenth longer or more."""
    model = MODELS["gpt"]((8,), 5, vocabulary=5, layers=1, heads=1, width=4, dropout=0.0)
    with torch.profiler.profile() as seen:
        model(torch.zeros((1, 8), dtype=torch.long))
    assert "aten::scaled_dot_product_attention" in {event.name for event in seen.events()}


def enlarged(images: np.ndarray, size: int) -> np.ndarray:
    """By `between`, as TensorFlow's model and JAX's do it."""
    for axis in (1, 2):
        before, after, share = between(images.shape[axis], size)
        first, second = (images.take(pixels, axis) for pixels in (before, after))
        images = first + share.reshape([-1] + [1] * (2 - axis)) * (second - first)
    return images


def test_images_are_enlarged_as_the_source_does_it_but_for_its_rounding():
    """It resizes bytes, with antialias, which has no effect where images are enlarged."""
    made = enlarged(IMAGES.astype(np.float64), 96)
    theirs = [functional.resize(Image.fromarray(image), [96, 96]) for image in IMAGES]
    # Pillow rounds twice: after the rows, and after the columns.
    assert np.abs(made - np.stack([np.asarray(image) for image in theirs])).max() <= 1.001
    exact = functional.resize(torch.tensor(IMAGES, dtype=torch.float64), [96, 96], antialias=True)
    np.testing.assert_allclose(made, exact, rtol=0, atol=1e-10)
    own = nn.Upsample((96, 96), mode="bilinear")(torch.tensor(IMAGES, dtype=torch.float64)[None])
    np.testing.assert_allclose(made, own[0], rtol=0, atol=1e-10)
    with pytest.raises(UserError, match="less than the 28 pixels"):
        MODELS["resnet-18"]((28, 28, 1), 10, width=64, resize=27)


def test_resnet_18_has_the_weights_of_the_source():
    """A bias in each convolution, and no batch norm beside a block."""
    model = MODELS["resnet-18"]((28, 28, 1), 10, width=64, resize=96)
    stem, norm, head = 64 * 49 + 64, 2 * 64, 512 * 10 + 10
    blocks = sum(
        9 * inputs * outputs + 9 * outputs * outputs + 6 * outputs  # two biases, two norms
        for inputs, outputs in pairwise([64, 64, 64, 128, 128, 256, 256, 512, 512])
    )
    beside = sum(width * 2 * width + 2 * width for width in (64, 128, 256))
    assert sum(weight.numel() for weight in model.parameters()) == sum(
        (stem, norm, blocks, beside, head)
    )
    sides = []
    for layer in model:
        layer.register_forward_hook(lambda _, inputs, output: sides.append(output.shape[2:]))
    assert model(torch.rand(2, 1, 28, 28)).shape == (2, 10)
    seen = [side[0] for side in sides if len(side)]
    assert seen == [96, 48, 48, 48, 24, 24, 24, 12, 12, 6, 6, 3, 3, 1]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        *(
            ({"name": "mlp", "hidden": hidden}, r"mlp takes list\[int\]")
            for hidden in (8, "8", ["8"])
        ),
        (
            {"name": "fashion-conv", "activation": "tanh"},
            r"Literal\['relu', 'elu'\], and is given 'tanh'",
        ),
    ],
)
def test_an_option_of_another_type_is_refused(model, message):
    spec = changed(make_spec("fashion-cnn", "torch"), {"model": model})
    with pytest.raises(UserError, match=rf"model\.{[*model][1]}: .*{message}"):
        create_model(MODELS, spec, make_images())
