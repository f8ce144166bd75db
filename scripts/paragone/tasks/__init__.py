"""What is learned from examples, and how it is scored: a task's loss, its metrics, and which is its quality.

The config reads this module: no framework and no NumPy here. `reference` has the losses and scores in NumPy,
written from their definitions; `torch`, `tensorflow` and `jax` have them as their frameworks offer them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from paragone.base.errors import UserError
from paragone.base.typed_json import ABSENT, Block

TaskName = Literal["classification", "multi-label", "regression", "language-modeling"]
MetricName = Literal["accuracy", "top5_accuracy", "f1", "r2", "mae", "perplexity", "loss"]
Score = Literal["accuracy", "top5_accuracy", "f1", "mae"]
TOP = 5  # The `k` of top-k accuracy that published tables have.


@dataclass(frozen=True)
class MetricKind:
    """The name of a metric in text, its unit, and which direction is better."""

    label: str
    unit: str
    more_is_better: bool


METRICS: dict[str, MetricKind] = {
    "loss": MetricKind("loss", "nats", more_is_better=False),
    "accuracy": MetricKind("accuracy", "fraction", more_is_better=True),
    "top5_accuracy": MetricKind("top-5 accuracy", "fraction", more_is_better=True),
    "f1": MetricKind("micro F1", "fraction", more_is_better=True),
    "r2": MetricKind("R²", "share of the variance", more_is_better=True),
    "mae": MetricKind("mean absolute error", "unit of the target", more_is_better=False),
    "perplexity": MetricKind("perplexity", "", more_is_better=False),
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
    "multi-label": Kind("binary_cross_entropy", "nats per label", "f1", ("f1", "loss")),
    "regression": Kind("mean_squared_error", "squared unit", "mae", ("r2", "mae", "loss")),
    "language-modeling": Kind(
        "cross_entropy", "nats per token", "accuracy", ("perplexity", "accuracy", "loss")
    ),
}


class Task(Block, frozen=True, kw_only=True):
    """What is learned, and how it is scored; classification if absent; see docs/protocols.md#tasks

    name: classification: of each example, or of each of its words or pixels; multi-label: of any
        number of classes for each example; regression: of one number or several;
        language-modeling: of the next token
    quality: the metric by which variants are compared; if absent accuracy, f1, r2 or perplexity,
        the first that it has
    class_weights: of classification: what the losses of each class are multiplied by, in their order
    rule: with class_weights: the mean loss of a batch divides by its number of labels (keras), or
        by the sum of their weights (pytorch)
    label_smoothing: of classification: this share of a label is spread evenly over all classes
    top5: of classification: measure top-5 accuracy too, the share of labels among the five largest
        outputs
    ignored: labels that the data set names as `ignored` count in no loss and no metric
    """

    name: TaskName
    quality: MetricName = ABSENT
    class_weights: Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(min_length=2)] = ABSENT
    rule: Literal["keras", "pytorch"] = ABSENT
    label_smoothing: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    top5: bool = False
    ignored: bool = False

    def __post_init__(self) -> None:
        metrics = self.metric_names
        if self.quality not in (ABSENT, *metrics):
            raise ValueError(f"has quality {self.quality}; {self.name} has {', '.join(metrics)}")
        of_classes = ["class_weights", "rule", "label_smoothing", "top5"]
        if self.name != "classification" and (has := [k for k in of_classes if getattr(self, k)]):
            raise ValueError(f"has {has[0]}, which is of classification alone; leave it out")
        if self.ignored and self.name not in ("classification", "language-modeling"):
            raise ValueError(f"has ignored, and {self.name} has no label to ignore; leave it out")
        if bool(self.rule) != bool(self.class_weights):
            raise ValueError(
                "has class_weights or rule, which says how they are averaged, keras or pytorch; give both or "
                "neither"
            )
        if self.class_weights and not any(self.class_weights):
            raise ValueError(
                "has class_weights by which no class counts; give one a weight above 0"
            )

    @property
    def kind(self) -> Kind:
        """Return what all tasks of this name have in common."""
        return KINDS[self.name]

    @property
    def numeric(self) -> bool:
        """Return whether targets are numbers, and not classes."""
        return self.name == "regression"

    @property
    def multi_label(self) -> bool:
        """Return whether each example has any number of classes; its labels are 0 or 1, (classes,)."""
        return self.name == "multi-label"

    @property
    def plain(self) -> bool:
        """Return whether the loss has no class weights and no smoothed or ignored labels."""
        return not (self.class_weights or self.label_smoothing or self.ignored)

    @property
    def weighs(self) -> bool:
        """Return whether the mean loss of a batch divides by another sum than its number of labels."""
        return self.ignored or self.rule == "pytorch"

    @property
    def counts(self) -> bool:
        """Return whether the score of a batch divides by another sum than its number of examples."""
        return self.ignored or self.multi_label

    @property
    def scores(self) -> tuple[Score, ...]:
        """Return what engines measure beside the loss."""
        return (self.kind.score, "top5_accuracy") if self.top5 else (self.kind.score,)

    @property
    def metric_names(self) -> tuple[MetricName, ...]:
        """Return the keys in `METRICS` of what is measured; the first is the quality unless one is named."""
        return self.kind.metrics + self.scores[1:]

    @property
    def quality_name(self) -> MetricName:
        """Return the key of the quality metric in `METRICS`."""
        return self.quality or self.kind.metrics[0]

    def metrics(
        self, loss: float | None, scores: Sequence[float | None], variance: float | None
    ) -> dict[str, float | None]:
        """Return all metrics by name; None for one that is not finite.

        `variance`: of numeric targets, the mean squared error of their mean. R² is 1 - loss / variance; of
        several targets per example both are means over the targets.
        """
        values: dict[str, float | None] = {"loss": loss}
        values |= zip(self.scores, scores, strict=True)
        if "r2" in self.kind.metrics:
            values["r2"] = None if loss is None or not variance else 1 - loss / variance
        if "perplexity" in self.kind.metrics:
            values["perplexity"] = None if loss is None or loss > MOST_NATS else math.exp(loss)
        return values


MOST_NATS = 700.0  # of which exp is finite
CLASSIFICATION = Task(name="classification")


def check_outputs(task: Task, outputs: Sequence[int | None], targets: Sequence[int | None]) -> None:
    """Raise `UserError` for a model whose outputs are not those that the targets of a data set need.

    Both are shapes of one example, without the batch: of numbers, and of several classes, equal ones; of one
    class the outputs have one axis more, the logits.
    """
    expected = list(targets) if task.numeric or task.multi_label else [*targets, "classes"]
    observed = list(outputs) if task.numeric or task.multi_label else [*outputs[:-1], "classes"]
    if observed != expected:
        shapes = (f"({', '.join(map(str, shape))})" for shape in (observed, expected))
        raise UserError(
            "model: for each example its outputs have the shape {}, and the data set needs {}; name "
            "another model, or other labels".format(*shapes)
        )
