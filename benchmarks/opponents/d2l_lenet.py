"""LeNet on Fashion-MNIST in the way of "Dive into Deep Learning": its loader, and its loop of eager PyTorch.

    python d2l_lenet.py <folder of arrays> <epochs> <workers of the loader>

Prints the test accuracy after the last epoch. Written anew; it draws no curves.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Images(Dataset):
    """A split as torchvision's data sets have it: each image is made by PIL, then turned into a tensor."""

    def __init__(self, split: str) -> None:
        self.images = np.load(folder / f"{split}_inputs.npy")[..., 0]
        self.labels = np.load(folder / f"{split}_labels.npy")
        self.transform = transforms.Compose([transforms.ToTensor()])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])


def right(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """Return how many examples of a batch are classified as labelled."""
    return float((logits.argmax(dim=1).type(labels.dtype) == labels).type(labels.dtype).sum())


def accuracy() -> float:
    """Return the accuracy on the test examples, a fraction."""
    model.eval()
    correct, examples = 0.0, 0
    with torch.no_grad():
        for images, labels in test:
            correct += right(model(images), labels)
            examples += labels.numel()
    return correct / examples


def initialize(module: nn.Module) -> None:
    """Draw the weights of a layer by Xavier's rule."""
    if isinstance(module, nn.Linear | nn.Conv2d):
        nn.init.xavier_uniform_(module.weight)


folder, epochs, workers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(2)
train, test = (
    DataLoader(Images(split), 256, shuffle=split == "train", num_workers=workers)
    for split in ("train", "test")
)
model = nn.Sequential(
    nn.Conv2d(1, 6, kernel_size=5, padding=2),
    nn.Sigmoid(),
    nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Conv2d(6, 16, kernel_size=5),
    nn.Sigmoid(),
    nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Flatten(),
    nn.Linear(16 * 5 * 5, 120),
    nn.Sigmoid(),
    nn.Linear(120, 84),
    nn.Sigmoid(),
    nn.Linear(84, 10),
)
model.apply(initialize)
optimizer = torch.optim.SGD(model.parameters(), lr=0.9)
loss_of = nn.CrossEntropyLoss()
for epoch in range(epochs):
    sums = [0.0, 0.0, 0.0]
    model.train()
    for images, labels in train:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_of(logits, labels)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            batch_sums = float(loss * images.shape[0]), right(logits, labels), images.shape[0]
            sums = [total + value for total, value in zip(sums, batch_sums, strict=True)]
    tested = accuracy()
    print(f"epoch {epoch + 1}: loss {sums[0] / sums[2]:.3f}, test accuracy {tested:.3f}")
print(json.dumps({"test_accuracy": tested}))
