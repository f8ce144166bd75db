"""The models in PyTorch, for the engines `torch` and `torch_xla`.

Each function takes the shape of one example (channels last, as stored), the number of classes and
the options of the workload's `model` block, and returns a module from (batch, channels, height, width)
to logits. Layers are registered in forward order: `paragone.engines.torch_weights` relies on it.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from paragone.base import plugins
from paragone.base.errors import needing_packages
from paragone.models import between, chosen


class FlattenChannelsLast(nn.Module):
    """(N, C, ...) to (N, ... * C): the canonical feature order, and free in channels-last memory."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Flatten one batch of feature maps."""
        return features.movedim(1, -1).flatten(1)


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    rows, columns = (((side - 4) // 2 - 4) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], 10, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.BatchNorm2d(10),
        nn.Conv2d(10, 20, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.BatchNorm2d(20),
        FlattenChannelsLast(),
        nn.Linear(20 * rows * columns, 50),
        nn.ReLU(),
        nn.Linear(50, classes),
    )


def fashion_conv(
    shape: tuple[int, int, int], classes: int, filters: int = 64, activation: str = "relu"
) -> nn.Module:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    rows, columns = ((side - 2) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], filters, kernel_size=3),
        nn.MaxPool2d(2),
        chosen("activation", activation, {"relu": nn.ReLU, "elu": nn.ELU})(),
        FlattenChannelsLast(),
        nn.Linear(filters * rows * columns, classes),
    )


def lenet(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    rows, columns = ((side // 2 - 4) // 2 for side in shape[:2])
    return nn.Sequential(
        nn.Conv2d(shape[2], 6, kernel_size=5, padding=2),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        FlattenChannelsLast(),
        nn.Linear(16 * rows * columns, 120),
        nn.Sigmoid(),
        nn.Linear(120, 84),
        nn.Sigmoid(),
        nn.Linear(84, classes),
    )


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> nn.Module:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    widths = [math.prod(shape), *hidden]
    layers: list[nn.Module] = [FlattenChannelsLast()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], classes))


class TextCNN(nn.Module):
    """Embedding of 7, then two 1-D convolutions of 64 and 32 filters, each rectified and pooled."""

    def __init__(self, length: int, classes: int, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 7)
        self.features = nn.Sequential(
            nn.Conv1d(7, 64, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(64, 32, kernel_size=3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            FlattenChannelsLast(),
        )
        self.classifier = nn.Linear(32 * (((length - 4) // 2 - 2) // 2), classes)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Logits of (batch, length) word indices."""
        return self.classifier(self.features(self.embedding(words).movedim(-1, 1)))


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> nn.Module:
    """The text CNN for sequences of shape (length,)."""
    return TextCNN(shape[0], classes, vocabulary)


# Keras' defaults: its running average keeps 0.99 of the old value.
KERAS_BATCH_NORM = {"momentum": 0.01, "eps": 1e-3}


def _conv_norm_relu(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
        nn.BatchNorm2d(outputs, **KERAS_BATCH_NORM),
        nn.ReLU(),
    )


class WideBlock(nn.Module):
    """Two convolutions plus a shortcut, which is a 1 x 1 convolution if `project`."""

    def __init__(self, inputs: int, outputs: int, dropout: float, project: bool) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            _conv_norm_relu(inputs, outputs),
            nn.Dropout(dropout),
            _conv_norm_relu(outputs, outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, kernel_size=1) if project else nn.Identity()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The block's output, (batch, outputs, height, width)."""
        return self.shortcut(features) + self.residual(features)


def wide_resnet(shape: tuple[int, int, int], classes: int, width: int, dropout: float) -> nn.Module:
    """WideResNet-16 of the batch size lab: three stages of two blocks, with pooling in between."""
    widths = [16 * width, 32 * width, 64 * width]
    layers: list[nn.Module] = [_conv_norm_relu(shape[2], 16)]
    for inputs, outputs in zip([16, *widths], widths, strict=False):
        pool = [] if outputs == widths[0] else [nn.MaxPool2d(2)]
        layers += [
            *pool,
            WideBlock(inputs, outputs, dropout, project=True),
            WideBlock(outputs, outputs, dropout, project=False),
        ]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes)
    )


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions plus a shortcut, rectified; where channels change they have the stride 2.

    The shortcut then is a 1 x 1 convolution without batch norm.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.residual = nn.Sequential(
            nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, kernel_size=3, padding=1),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride)
        self.rectify = nn.ReLU()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The block's output, (batch, outputs, height / stride, width / stride)."""
        return self.rectify(self.residual(features) + self.shortcut(features))


def resnet_18(
    shape: tuple[int, int, int], classes: int, width: int, resize: int | None = None
) -> nn.Module:
    """ResNet-18 of "Dive into Deep Learning", with a bias in each convolution.

    `width`: channels of the first one, 64 as published. `resize`: pixels per side to which images are
    enlarged, bilinear.
    """
    layers: list[nn.Module] = []
    if resize:
        between(max(shape[:2]), resize)
        layers.append(nn.Upsample((resize, resize), mode="bilinear"))
    layers += [
        nn.Conv2d(shape[2], width, kernel_size=7, stride=2, padding=3),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for inputs, outputs in pairwise([width, width, 2 * width, 4 * width, 8 * width]):
        layers += [BasicBlock(inputs, outputs), BasicBlock(outputs, outputs)]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, classes)
    )


class PadAsKeras(nn.Module):
    """Zeros around (batch, channels, height, width): Keras pads an even side at its end only."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Pad for a 3 x 3 convolution of stride 2."""
        height, width = features.shape[2:]
        return nn.functional.pad(features, (width % 2, 1, height % 2, 1))


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> nn.Module:
    """torchvision's MobileNetV2 with Keras' padding, batch norm and classifier without dropout.

    `outputs` may exceed the classes: the source keeps ImageNet's 1,000. Raises `Unavailable` without
    torchvision.
    """
    with needing_packages():
        import torchvision  # slow to import, and only this model needs it

    norm = partial(nn.BatchNorm2d, eps=1e-3, momentum=1e-3)
    model = torchvision.models.mobilenet_v2(num_classes=outputs, dropout=0.0, norm_layer=norm)
    for block in model.features.modules():
        if isinstance(block, torchvision.ops.Conv2dNormActivation) and block[0].stride == (2, 2):
            block[0].padding = (0, 0)
            block.insert(0, PadAsKeras())
    return model


class Residual(nn.Linear):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)


class GptBlock(nn.Module):
    """Causal attention, then two dense layers, each normalized before and added to its input."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width, bias=False)
        self.attention = nn.Linear(width, 3 * width, bias=False)  # queries, keys and values
        self.projection = Residual(width, width)
        self.norm_dense = nn.LayerNorm(width, bias=False)
        self.expansion = nn.Linear(width, 4 * width, bias=False)
        self.contraction = Residual(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(batch, length, width)."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention(self.norm_attention(features)).chunk(3, -1)
        )
        attended = self._attend(query, key, value).transpose(1, 2).flatten(2)
        features = features + self.dropout(self.projection(attended))
        hidden = functional.gelu(self.expansion(self.norm_dense(features)))
        return features + self.dropout(self.contraction(hidden))

    def _attend(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Causal attention of (batch, heads, length, width of a head) to as much."""
        if not (torch.compiler.is_compiling() and query.dtype == torch.float64):
            dropped = self.dropout.p if self.training else 0.0
            attend = partial(
                functional.scaled_dot_product_attention, dropout_p=dropped, is_causal=True
            )
            if query.device.type != "cpu" or query.dtype != torch.bfloat16:
                return attend(query, key, value)
            # In bfloat16 its backward pass on a CPU takes three times as long (PyTorch 2.9).
            with torch.autocast("cpu", enabled=False):
                return attend(query.float(), key.float(), value.float()).to(query.dtype)
        # Compiled, PyTorch 2.9 cannot differentiate its own function in double precision.
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        ahead = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        return self.dropout(scores.masked_fill(ahead, -math.inf).softmax(-1)) @ value


class Gpt(nn.Module):
    """Embedded tokens and positions, blocks, a norm, and the embedding of tokens as output layer."""

    def __init__(
        self, length: int, vocabulary: int, layers: int, heads: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(GptBlock(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits, (batch, length, vocabulary), of (batch, length) tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        features = self.dropout(self.tokens(tokens) + self.positions(places))
        return functional.linear(self.norm(self.blocks(features)), self.tokens.weight)


def gpt(
    shape: tuple[int],
    classes: int,
    vocabulary: int,
    layers: int,
    heads: int,
    width: int,
    dropout: float,
) -> nn.Module:
    """GPT-2 without biases, for windows of shape (length,); `classes` are the tokens themselves."""
    return Gpt(shape[0], vocabulary, layers, heads, width, dropout)


MODELS: dict[str, Callable[..., nn.Module]] = plugins.extend(
    "models/torch.py",
    {
        "fashion-cnn": fashion_cnn,
        "fashion-conv": fashion_conv,
        "gpt": gpt,
        "lenet": lenet,
        "mlp": mlp,
        "mobilenet-v2": mobilenet_v2,
        "resnet-18": resnet_18,
        "text-cnn": text_cnn,
        "wide-resnet": wide_resnet,
    },
)
