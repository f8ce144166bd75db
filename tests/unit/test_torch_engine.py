"""The PyTorch engine on a few made-up images: whole graphs, feeds, its count of FLOP; optimizers; models."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from made_images import make_images
from torch import nn
from torch._dynamo.exc import Unsupported
from torch.utils._python_dispatch import TorchDispatchMode
from workspace import changed, make_spec

from paragone.base.errors import Unavailable, UserError
from paragone.config.optimizer_keys import DEFAULTS
from paragone.config.run_spec import Spec
from paragone.data.batches import evaluation_batches, noise_batches, train_batches
from paragone.engines import torch as eager
from paragone.engines.reference import count_flop
from paragone.engines.torch import Torch
from paragone.engines.torch_compile import TorchCompile
from paragone.models import create_model
from paragone.models.torch import MODELS

DATASET = make_images(train=80)


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
    monkeypatch.setitem(eager.models.MODELS, "fashion-conv", lambda shape, classes: Broken())
    spec = make_spec("fashion-conv", "torch-compile", 1, global_batch=4, steps_per_epoch=1)
    dataset, engine = make_images(), TorchCompile()
    engine.build(spec, dataset, 1)
    with pytest.raises(Unsupported, match="graph_break"):
        engine.train_epoch(0, [0.1], train_batches(dataset, spec, 1), 1)


def test_forward_and_both_gradients_but_those_of_the_data():
    """PyTorch's own formula would say 32 times as much for the gradients of the second layer.

    A multiplication and an addition for each weight and value. Of dense layers, too: pipeline/test_smoke.py.
    """
    pointwise, depthwise = 2 * 8 * 8 * 32, 2 * 8 * 8 * 32 * 9
    with torch.device("meta"):
        layers = nn.Conv2d(1, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Flatten()
        larger = nn.ConvTranspose2d(
            32, 4, 3, stride=2
        )  # multiplies each of its inputs with the kernel
    assert count_flop(nn.Sequential(*layers), (8, 8, 1)) == 2 * pointwise + 3 * depthwise
    transposed = 3 * 2 * 8 * 8 * 32 * 9 * 4
    assert count_flop(nn.Sequential(layers[0], larger, layers[2]), (8, 8, 1)) == (
        2 * pointwise + transposed
    )


def spec_of(feed: str) -> Spec:
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=4)
    return changed(spec, {"validation": {"first": 16}}, {"feed": feed})


def test_resident_inputs_are_rows_and_train_to_the_last_bit_as_copied_ones():
    trained = []
    for feed in ("resident", "batches"):
        spec, engine = spec_of(feed), Torch()
        engine.build(spec, DATASET, 1)
        engine.warm_up(0.01, *noise_batches(DATASET, spec))
        metrics = engine.train_epoch(0, [0.01] * 4, train_batches(DATASET, spec, 1), 4)
        tested = [
            engine.evaluate(evaluation_batches(DATASET, spec, split=split), 1)
            for split in spec.workload.evaluated
        ]
        assert tested[0] != tested[1]
        weights = [values.tobytes() for values in engine.weights().values()]
        trained.append([metrics, tested, weights])
    assert trained[0] == trained[1]
    rows, _ = next(train_batches(DATASET, spec_of("resident"), 1))
    assert (rows.shape, rows.dtype) == ((16,), np.int64)


def test_pinned_memory_is_of_cuda():
    with pytest.raises(Unavailable, match="not for cpu"):
        Torch().build(spec_of("pinned"), DATASET, 1)


class Reads(TorchDispatchMode):
    """Notes the operators for which the host would wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None) -> object:
        name = function.overloadpacket.__name__
        if name in ("_local_scalar_dense", "nonzero", "equal", "is_nonzero"):
            self.seen.append(name)
        return function(*args, **kwargs or {})


@pytest.mark.parametrize("feed", ["batches", "resident"])
def test_no_step_reads_a_value_from_the_device(feed):
    spec, engine = spec_of(feed), Torch()
    engine.build(spec, DATASET, 1)
    with Reads() as reads:
        engine.train_epoch(0, [0.01] * 4, train_batches(DATASET, spec, 1), 4)
        engine.evaluate(evaluation_batches(DATASET, spec), 1)
    assert reads.seen == []


def test_resnet_18_has_the_weights_of_the_source():
    """A bias in each convolution, and no batch norm beside a block. Its steps: parity/protocols.py."""
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
    with pytest.raises(UserError, match="less than the 28 pixels"):
        MODELS["resnet-18"]((28, 28, 1), 10, width=64, resize=27)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "mlp", "hidden": ["8"]}, r"mlp takes list\[int\]"),
        ({"name": "fashion-conv", "activation": "tanh"}, r"Literal\['relu', 'elu'\], .* 'tanh'"),
    ],
)
def test_an_option_of_another_type_is_refused(model, message):
    spec = changed(make_spec("fashion-cnn", "torch"), {"model": model})
    with pytest.raises(UserError, match=rf"model\.{[*model][1]}: .*{message}"):
        create_model(MODELS, spec, make_images())


@pytest.mark.parametrize(
    ("name", "kind"),
    [*zip(DEFAULTS["pytorch"], ("SGD", "Adam", "AdamW", "NAdam", "RMSprop"), strict=True)],
)
def test_the_defaults_of_pytorch_are_those_of_its_optimizers(name, kind):
    theirs = getattr(torch.optim, kind)([torch.zeros(1)]).defaults
    betas = dict(zip(("beta_1", "beta_2"), theirs.get("betas", ()), strict=False))
    theirs |= {"base": theirs["lr"], "epsilon": theirs.get("eps"), "rho": theirs.get("alpha")}
    ours = {key: value for key, value in DEFAULTS["pytorch"][name].items() if key != "rule"}
    assert ours == {key: (theirs | betas)[key] for key in ours}
    assert not any(theirs.get(key) for key in {"weight_decay", "dampening", "amsgrad"} - {*ours})
