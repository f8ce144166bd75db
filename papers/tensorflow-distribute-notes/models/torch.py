"""MobileNetV2 and the text CNN, in PyTorch."""

from functools import partial

import torch
from torch import nn

from paragone.base.errors import needing_packages
from paragone.models.torch import FlattenChannelsLast


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

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """Logits of (batch, length) word indices."""
        return self.classifier(self.features(self.embedding(indices).movedim(-1, 1)))


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> nn.Module:
    """An embedding and two 1-D convolutions, each rectified and pooled, for sequences of shape (length,)."""
    return TextCNN(shape[0], classes, vocabulary)


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


MODELS = {"mobilenet-v2": mobilenet_v2, "text-cnn": text_cnn}
