"""The character GPT on Shakespeare in nanoGPT's way, on its CPU protocol: a plain loop of eager PyTorch.

    python nano_gpt.py <folder of arrays> <iterations>

Prints the validation loss after the last iteration. Written anew: model, batches and loop are those of the
public program, as its README starts it on a CPU, without its samples.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, LENGTH, BATCH, CHARACTERS = 4, 4, 128, 64, 12, 65
RATE, LOWEST, WARM_UP = 1e-3, 1e-4, 100


class Block(nn.Module):
    """PyTorch's own attention, then two dense layers, each normalized before and added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(WIDTH, bias=False)
        self.attention = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.norm_dense = nn.LayerNorm(WIDTH, bias=False)
        self.expansion = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.contraction = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, width)."""
        batch, length, width = x.size()
        q, k, v = (
            part.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
            for part in self.attention(self.norm_attention(x)).split(WIDTH, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        x = x + self.dropout(self.projection(y))
        hidden = functional.gelu(self.expansion(self.norm_dense(x)))
        return x + self.dropout(self.contraction(hidden))


class Gpt(nn.Module):
    """GPT-2 without biases; the output layer has the weights of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(CHARACTERS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.dropout = nn.Dropout(0.0)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, CHARACTERS, bias=False)
        self.head.weight = self.tokens.weight
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                residual = name.endswith(("projection.weight", "contraction.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * LAYERS) if residual else 0.02)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The mean loss of tokens `x` with targets `y`, both (batch, length)."""
        places = torch.arange(0, x.size(1), dtype=torch.long)
        features = self.dropout(self.tokens(x) + self.positions(places))
        for block in self.blocks:
            features = block(features)
        logits = self.head(self.norm(features))
        return functional.cross_entropy(
            logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1
        )


def draw(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of random windows, and the windows one character later."""
    data = np.memmap(streams[split], dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - LENGTH, (BATCH,))
    x, y = (
        torch.stack(
            [torch.from_numpy(data[i + s : i + s + LENGTH].astype(np.int64)) for i in starts]
        )
        for s in (0, 1)
    )
    return x, y


@torch.no_grad()
def estimate() -> dict[str, float]:
    """The mean loss of 20 random batches of each split."""
    model.eval()
    means = {}
    for split in streams:
        losses = torch.zeros(20)
        for k in range(20):
            losses[k] = model(*draw(split)).item()
        means[split] = losses.mean().item()
    model.train()
    return means


def rate_at(iteration: int) -> float:
    """A linear warm-up, then half a cosine."""
    if iteration < WARM_UP:
        return RATE * (iteration + 1) / (WARM_UP + 1)
    done = (iteration - WARM_UP) / (iterations - WARM_UP)
    return LOWEST + 0.5 * (1 + math.cos(math.pi * done)) * (RATE - LOWEST)


folder, iterations = Path(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(2)
torch.manual_seed(1337)
with tempfile.TemporaryDirectory() as name:
    streams = {split: Path(name) / f"{split}.bin" for split in ("train", "test")}
    for split, path in streams.items():  # as the program's own files
        np.load(folder / f"{split}_inputs.npy").astype(np.uint16).tofile(path)
    model = Gpt()
    weights = [*model.parameters()]
    groups = [
        {"params": [weight for weight in weights if weight.dim() >= 2], "weight_decay": 0.1},
        {"params": [weight for weight in weights if weight.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99))
    best = math.inf
    x, y = draw("train")
    for iteration in range(iterations + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(iteration)
        if iteration % 250 == 0:
            losses = estimate()
            print(f"step {iteration}: train loss {losses['train']:.4f}, {losses['test']:.4f}")
            if losses["test"] < best and iteration:
                best = losses["test"]
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, Path(name) / "ckpt.pt")
        loss = model(x, y)
        x, y = draw("train")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"iter {iteration}: loss {loss.item():.4f}")
print(json.dumps({"test_loss": losses["test"]}))
