"""Fashion-MNIST CNN in the PyTorch tutorial's way: a DataLoader that transforms image by image.

    python data_loader.py <folder of arrays> <batch size> <workers of the loader>

Prints the examples per second of an epoch, after some steps that warm up. The model is the project's.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from paragone.models.torch import MODELS


class Images(Dataset):
    """As torchvision's data sets: an image of PIL's to a tensor, normalised."""

    def __init__(self, folder: Path) -> None:
        self.images = np.load(folder / "train_inputs.npy")
        self.labels = np.load(folder / "train_labels.npy")
        self.transform = transforms.Compose(
            [
                transforms.ToPILImage(),
                transforms.ToTensor(),
                transforms.Normalize((0.1307,), (0.3081,)),
            ]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(self.images[index]), int(self.labels[index])


def train(loader: DataLoader, steps: int) -> int:
    """Train so many steps; how many examples they had."""
    examples = 0
    for step, (images, labels) in enumerate(loader):
        if step == steps:
            break
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        examples += len(labels)
    return examples


batch, workers = int(sys.argv[2]), int(sys.argv[3])
loader = DataLoader(
    Images(Path(sys.argv[1])), batch_size=batch, shuffle=True, drop_last=True, num_workers=workers
)
torch.set_num_threads(2)
model = MODELS["fashion-cnn"]((28, 28, 1), 10).train()
loss_of = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
train(loader, 3)
begun = time.perf_counter()
trained = train(loader, len(loader))
print(json.dumps({"examples_per_second": trained / (time.perf_counter() - begun)}))
