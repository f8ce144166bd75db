"""ResNet-18 of "Dive into Deep Learning", and the images that it enlarges."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from made_images import make_images
from PIL import Image
from torch import nn
from torchvision.transforms import functional
from workspace import changed, make_spec

from paragone.base.errors import UserError
from paragone.models import between, create_model
from paragone.models.torch import MODELS

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


@pytest.mark.parametrize("hidden", [8, "8", ["8"]])
def test_an_option_of_another_type_is_refused(hidden):
    model = {"name": "mlp", "hidden": hidden}
    spec = changed(make_spec("fashion-cnn", "torch"), {"model": model})
    with pytest.raises(UserError, match=r"model\.hidden: mlp takes list\[int\]"):
        create_model(MODELS, spec, make_images())
