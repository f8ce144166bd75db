"""The learning rate of each step, against PyTorch's schedulers and the formulas of programs and papers."""

import math
from collections.abc import Callable

import msgspec
import pytest
import torch
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
)

from paragone.config.schedules import LearningRate

EPOCHS, STEPS = 5, 8
LENGTH = EPOCHS * STEPS
CYCLE = {"pct_start": (0.3 * LENGTH + 1) / (LENGTH + 1), "cycle_momentum": False}


def of_run(epochs: int = EPOCHS, steps: int = STEPS, **block) -> list[float]:
    """The factors of all steps of a run."""
    schedule = msgspec.convert({"base": 1.0, **block}, LearningRate)
    return [
        factor for epoch in range(epochs) for factor in schedule.factors(epoch + 1, epochs, steps)
    ]


def of_pytorch(make: Callable) -> list[float]:
    """The rates of a scheduler that is stepped after each step of the optimizer."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler, rates = make(optimizer), []
    for _ in range(LENGTH):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize(
    ("shape", "theirs"),
    [
        ({"name": "linear", "end": 0.2}, lambda of: LinearLR(of, 1.0, 0.2, LENGTH)),
        ({"name": "cosine", "end": 0.1}, lambda of: CosineAnnealingLR(of, LENGTH, 0.1)),
        ({"name": "polynomial", "power": 2, "over": 30}, lambda of: PolynomialLR(of, 30, 2)),
        ({"name": "exponential", "rate": 0.9}, lambda of: ExponentialLR(of, 0.9)),
        ({"name": "one-cycle", "end": 4e-6}, lambda of: OneCycleLR(of, 1.0, LENGTH + 1, **CYCLE)),
    ],
    ids=lambda value: value.get("name", "") if isinstance(value, dict) else "",
)
def test_the_shapes_are_those_of_pytorch(shape, theirs):
    own = of_run(unit="step", schedule=shape)
    assert own == pytest.approx(of_pytorch(theirs), rel=1e-9, abs=1e-12)
    # Counted in epochs, the rate is that of an epoch's first step, and constant within it.
    by_epoch = of_run(epochs=LENGTH, steps=2, schedule=shape)
    assert by_epoch == [factor for factor in own for _ in range(2)]
    between = of_run(epochs=LENGTH, steps=2, schedule=shape, each_step=True)
    assert between[::2] == own
    assert between != by_epoch


def test_warm_up_and_cosine_of_nanogpt():
    """Its function of the iteration: 100 of warm-up to 1e-3, half a cosine to 1e-4 at iteration 2,000."""

    def published(iteration: int) -> float:
        if iteration < 100:
            return 1e-3 * (iteration + 1) / 101
        share = (iteration - 100) / (2000 - 100)
        return 1e-4 + 0.5 * (1 + math.cos(math.pi * share)) * (1e-3 - 1e-4)

    schedule = {"name": "cosine", "end": 0.1, "over": 2000}
    own = of_run(1, 2300, unit="step", warmup={"length": 100}, schedule=schedule)
    assert [1e-3 * factor for factor in own[:2001]] == pytest.approx(
        [published(iteration) for iteration in range(2001)]
    )
    assert own[2001:] == pytest.approx([0.1] * 299)


def test_inverse_square_root_of_the_transformer():
    """d^-0.5 min(s^-0.5, s w^-1.5) in step s (from 1), whose peak (d w)^-0.5 is the base here."""
    warm, name = 10, "inverse-square-root"
    own = of_run(unit="step", warmup={"length": warm - 1}, schedule={"name": name})
    published = [min(s**-0.5, s * warm**-1.5) / warm**-0.5 for s in range(1, LENGTH + 1)]
    assert own == pytest.approx(published)


def test_steps_down_and_a_warm_up_by_fractions_of_epochs():
    """As Goyal et al. (arXiv:1706.02677) have it: from 1 / k to 1 in the first epochs, then by tenths."""
    decay = [{"after": 3, "factor": 0.1}]
    own = of_run(each_step=True, warmup={"length": 2, "start": 0.125}, decay=decay)
    assert own[:16] == pytest.approx([0.125 + 0.875 * step / 16 for step in range(16)])
    assert own[16:] == [1.0] * 8 + [0.1] * 16
