"""What a task says: its metrics, their directions and targets; the reference's losses."""

import json
import math

import numpy as np
import pytest
import scipy.optimize
from sklearn.metrics import f1_score, top_k_accuracy_score
from workspace import make_spec, refusing

from paragone.config.run_spec import Spec, Target
from paragone.tasks import CLASSIFICATION, KINDS, METRICS, Task, check_outputs
from paragone.tasks.reference import chance_levels, counts, guessed, losses, scores, weights

REGRESSION, LANGUAGE = Task(name="regression"), Task(name="language-modeling")
MULTI_LABEL = Task(name="multi-label")


def test_metrics_follow_from_loss_and_score():
    assert CLASSIFICATION.metrics(0.5, [0.9], None) == {"loss": 0.5, "accuracy": 0.9}
    assert REGRESSION.metrics(3.0, [1.5], 4.0) == {"loss": 3.0, "mae": 1.5, "r2": 0.25}
    found = LANGUAGE.metrics(2.0, [0.3], None)
    assert found == {"loss": 2.0, "accuracy": 0.3, "perplexity": pytest.approx(math.e**2)}
    assert REGRESSION.metrics(None, [None], 4.0) == {"loss": None, "mae": None, "r2": None}
    assert LANGUAGE.metrics(1e5, [0.0], None)["perplexity"] is None
    for kind in KINDS.values():
        assert {*kind.metrics} <= METRICS.keys()


@pytest.mark.parametrize(
    ("target", "reached", "missed"),
    [
        ({"r2": -0.5}, -0.4, -0.6),
        ({"mae": 40}, 39.0, 41.0),
        ({"perplexity": 30.0}, 30.0, None),
    ],
)
def test_a_target_is_reached_in_the_direction_of_its_metric(target, reached, missed):
    made = Target(**target, patience=1, stop=True)
    assert made.reached_by(reached)
    assert not made.reached_by(missed)


def of_task(task: dict, **changes: object) -> Spec:
    spec = json.loads(make_spec("fashion-cnn", "torch").to_json())
    spec["workload"] |= {"task": task, **changes}
    return Spec.from_json(json.dumps(spec))


WEIGHTS = (0.5, 3.0, 0.0)
OPTIONS = {"class_weights": WEIGHTS, "label_smoothing": 0.3, "ignored": True}
WEIGHTED = {r: Task(name="classification", rule=r, **OPTIONS) for r in ("keras", "pytorch")}


@pytest.mark.parametrize(
    ("task", "outputs", "targets"),
    [(REGRESSION, (1000,), (1,)), (CLASSIFICATION, (6, 9), ())],
)
def test_outputs_that_do_not_fit_the_targets_are_refused(task, outputs, targets):
    with refusing("for each example its outputs have the shape"):
        check_outputs(task, outputs, targets)


def score_of(task: Task, outputs: np.ndarray, targets: np.ndarray) -> float:
    """The score of a whole pass."""
    counted = counts(task, outputs, targets).sum()
    return scores(task, outputs, targets)[0].sum() / max(counted, 1)


def test_micro_f1_is_that_of_scikit_learn():
    """Losses are those of PyTorch: parity/test_engines.py."""
    random = np.random.default_rng(3)
    outputs, labels = random.normal(size=(40, 5)), (random.random((40, 5)) < 0.3).astype(int)
    f1 = score_of(MULTI_LABEL, outputs, labels)
    assert f1 == pytest.approx(f1_score(labels, outputs > 0, average="micro"))


def test_top5_accuracy_is_that_of_scikit_learn_and_counts_no_label_that_is_ignored():
    task, random = Task(name="classification", top5=True, ignored=True), np.random.default_rng(3)
    outputs, labels = random.normal(size=(200, 9)), random.integers(9, size=200)
    top1, top5 = scores(task, outputs, labels)
    assert top1.mean() == top_k_accuracy_score(labels, outputs, k=1)
    assert top5.mean() == top_k_accuracy_score(labels, outputs, k=5)
    assert task.metrics(0.5, [0.4, 0.8], None)["top5_accuracy"] == 0.8
    equal = scores(task, np.zeros((200, 9)), labels)  # of which the first classes are the largest
    assert [score.mean() for score in equal] == [(labels < 1).mean(), (labels < 5).mean()]
    nothing = outputs[:1] * math.nan, labels[:1]
    assert not np.any(scores(task, *nothing))
    assert not np.any(scores(task, outputs[:1], np.array([-1])))


def test_guessing_is_the_best_of_all_constant_outputs():
    random = np.random.default_rng(4)
    labels = (random.random((60, 4)) < [0.05, 0.2, 0.5, 0.7]).astype(int)
    best, least = guessed(MULTI_LABEL, labels, 4)
    every = [np.array([signs] * 60) - 0.5 for signs in np.ndindex(2, 2, 2, 2)]
    assert best == pytest.approx(max(score_of(MULTI_LABEL, each, labels) for each in every))
    share = labels.mean(0)
    constant = np.tile(np.log(share / (1 - share)), (60, 1))
    assert least == pytest.approx(losses(MULTI_LABEL, constant, labels)[0].mean())
    for task in WEIGHTED.values():
        labels = random.choice([-1, 0, 1, 2], p=[0.2, 0.2, 0.5, 0.1], size=(60, 3))
        majority, least = guessed(task, labels, 3)
        assert majority == (labels == 1).sum() / (labels >= 0).sum()

        def mean(logits: np.ndarray, task: Task = task, labels: np.ndarray = labels) -> float:
            outputs = np.tile(logits, (60, 3, 1))
            return losses(task, outputs, labels)[0].sum() / weights(task, labels).sum()

        assert least == pytest.approx(scipy.optimize.minimize(mean, np.zeros(3)).fun, rel=1e-4)


def test_guessing_one_of_many_classes_costs_the_entropy_of_their_shares():
    """Each label of windows that overlap counts once: 0 to 5 here; most of the vocabulary is absent."""
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(6), 3)
    assert chance_levels(LANGUAGE, windows, 50_257) == {
        "majority": pytest.approx(1 / 6),
        "guessing_loss": pytest.approx(math.log(6)),
    }


def targeted(**metrics: float) -> dict:
    return {"target": {**metrics, "patience": 1, "stop": False}}


@pytest.mark.parametrize(
    ("name", "options", "changes", "words"),
    [
        ("classification", {}, targeted(), "name one of loss, accuracy"),
        ("classification", {}, targeted(mae=3), "classification has accuracy, loss"),
        ("regression", {"quality": "accuracy"}, {}, "has quality accuracy; "),
        ("multi-label", {"top5": True}, {}, "top5, which is of classification alone"),
        ("classification", {}, targeted(top5_accuracy=0.9), "classification has accuracy, loss"),
        ("regression", {"label_smoothing": 0.1}, {}, "label_smoothing, which is of classification"),
        ("multi-label", {"ignored": True}, {}, "multi-label has no label to ignore"),
        ("classification", {"class_weights": [1, 2]}, {}, "give both or neither"),
        ("classification", {"class_weights": [0, 0], "rule": "keras"}, {}, "no class counts"),
        (
            *("classification", {"label_smoothing": 0.1}, {"loss": "double_softmax"}),
            "double_softmax, which is of classification without class weights",
        ),
    ],
)
def test_what_a_task_cannot_have_is_refused(name, options, changes, words):
    with refusing(words):
        of_task({"name": name, **options}, **changes)
