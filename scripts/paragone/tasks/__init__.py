"""What is learned from examples, and how it is scored: a task's loss, its metrics, and which is its quality.

The config reads this module: no framework and no NumPy here. `reference` has the losses and scores in NumPy,
written from their definitions; `torch`, `tensorflow` and `jax` have them as their frameworks offer them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from paragone.base.errors import UserError
from paragone.base.typed_json import Block

TaskName = Literal["classification", "regression", "language-modeling"]
MetricName = Literal["accuracy", "r2", "mae", "perplexity", "loss"]
Score = Literal["accuracy", "mae"]


@dataclass(frozen=True)
class Metric:
    """A metric in words, its unit, and which direction is better."""

    words: str
    unit: str
    more_is_better: bool

    def reaches(self, value: float | None, wanted: float) -> bool:
        """Return whether a value is as good as wanted; one that is not finite is not."""
        if value is None:
            return False
        return value >= wanted if self.more_is_better else value <= wanted


METRICS: dict[str, Metric] = {
    "loss": Metric("loss", "nats", more_is_better=False),
    "accuracy": Metric("accuracy", "fraction", more_is_better=True),
    "r2": Metric("R²", "share of the variance", more_is_better=True),
    "mae": Metric("mean absolute error", "unit of the target", more_is_better=False),
    "perplexity": Metric("perplexity", "", more_is_better=False),
}


@dataclass(frozen=True)
class Kind:
    """What all tasks of a name have in common.

    `loss`: its name, and `unit`. `score`: what engines measure beside the loss. `metrics`: those that loss
    and score give; the first is the quality unless a task names another.
    """

    loss: str
    unit: str
    score: Score
    metrics: tuple[MetricName, ...]


KINDS: dict[str, Kind] = {
    "classification": Kind("cross_entropy", "nats", "accuracy", ("accuracy", "loss")),
    "regression": Kind("mean_squared_error", "squared unit", "mae", ("r2", "mae", "loss")),
    "language-modeling": Kind(
        "cross_entropy", "nats per token", "accuracy", ("perplexity", "accuracy", "loss")
    ),
}


class Task(Block, frozen=True, kw_only=True):
    """What a workload learns.

    classification: one of several classes for each example, or for each of its positions (tokens, pixels).
    language-modeling: the next token at each position of a text, as classification. regression: one number or
    several for each example, by squared error. `quality`: the metric by which variants are compared.
    """

    name: TaskName
    quality: MetricName | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for a quality that the task does not have."""
        if self.quality and self.quality not in self.kind.metrics:
            raise ValueError(
                f"task.quality: {self.name} has no {self.quality}; it has {', '.join(self.kind.metrics)}"
            )

    @property
    def kind(self) -> Kind:
        """What all tasks of this name have in common."""
        return KINDS[self.name]

    @property
    def numeric(self) -> bool:
        """Whether targets are numbers, and not classes."""
        return self.name == "regression"

    @property
    def score(self) -> Score:
        """What engines measure beside the loss."""
        return self.kind.score

    @property
    def quality_name(self) -> MetricName:
        """The key of the quality metric in `METRICS`."""
        return self.quality or self.kind.metrics[0]

    def metrics(
        self, loss: float | None, score: float | None, variance: float | None
    ) -> dict[str, float | None]:
        """All metrics by name; None for one that is not finite.

        `variance`: of numeric targets, the mean squared error of their mean. R² is 1 - loss / variance; of
        several targets per example both are means over the targets.
        """
        found = {"loss": loss, self.score: score}
        if "r2" in self.kind.metrics:
            found["r2"] = None if loss is None or not variance else 1 - loss / variance
        if "perplexity" in self.kind.metrics:
            found["perplexity"] = None if loss is None or loss > MOST_NATS else math.exp(loss)
        return found


MOST_NATS = 700.0  # of which exp is finite
CLASSIFICATION = Task(name="classification")


def check_outputs(task: Task, outputs: Sequence[int | None], targets: Sequence[int | None]) -> None:
    """Raise `UserError` for a model whose outputs are not those that the targets of a data set need.

    Both are shapes of one example, without the batch: of numbers equal ones; of classes the outputs have one
    axis more, the logits.
    """
    expected = list(targets) if task.numeric else [*targets, "classes"]
    found = list(outputs) if task.numeric else [*outputs[:-1], "classes"]
    if found != expected:
        shapes = (f"({', '.join(map(str, shape))})" for shape in (found, expected))
        raise UserError(
            "model: for each example its outputs have the shape {}, and the data set needs {}; name "
            "another model, or other labels".format(*shapes)
        )
