"""Rows of `make bench` on training: the product's best way beside the tutorials' programs."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from product import Data, output_of, published, specification, train
from rows import NO, Row, at_least, at_most, in_turn, quotients, stated

from paragone.config.run_spec import TUNED, Spec

OPPONENTS = Path(__file__).parent / "opponents"
WINDOW = 5.0  # seconds of training whose speed is compared
PUBLISHED_CNN = ("8 TPU cores (Colab), PyTorch/XLA", "batch 128 a core, 50 epochs")
PUBLISHED_REUTERS = ("2 logical GPUs (Colab), MirroredStrategy", "10 epochs")
TUNED_BFLOAT16: dict[str, Any] = {"division": TUNED, "precision": "bfloat16"}
SHORT: dict[str, Any] = {"epochs": 1, "steps_per_epoch": 10}


def rows(data: Data, rounds: int) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [
        partial(fashion_cnn_whole, data),
        partial(reuters_whole, data, 3),
        partial(fashion_conv, data, rounds),
        partial(fashion_cnn, data, rounds),
        partial(wide_resnet, data, rounds),
        partial(wide_resnet_accuracy, data),
        partial(text_cnn, data, rounds),
    ]


def fashion_cnn_whole(data: Data) -> list[Row]:
    """The 50 published epochs, from the start of the command to its end."""
    spec = specification("fashion-cnn", "torch-ddp", 1024, 2, epochs=50, **TUNED_BFLOAT16)
    run = train(spec, data)
    epochs = run.record.epochs
    accuracy, trained = epochs[-1].test_accuracy, [one.train_seconds for one in epochs]
    evaluated = sum(one.evaluate_seconds for one in epochs)
    return [
        Row(
            f"fashion-cnn, 50 epochs, end to end, {named(spec)}",
            f"published: {published(*PUBLISHED_CNN):g} s with the loading of data, 8 TPU cores",
            f"{stated([run.seconds], 's', 0)}, test accuracy {accuracy:.4f}; epochs of {min(trained):.1f} to "
            f"{max(trained):.1f} s, {evaluated:.0f} s of evaluation",
            "120 s at 0.89 or more",
            at_most(120, [run.seconds]) if accuracy >= 0.89 else NO,
        )
    ]


def reuters_whole(data: Data, rounds: int) -> list[Row]:
    """The ten published epochs, from the start of the command to its end."""
    way = partial(specification, "reuters-cnn", "tensorflow-mirrored", 32, epochs=10)
    best, plain = way(precision="bfloat16"), way()
    runs = [train(best, data) for _ in range(rounds)]
    reference = train(plain, data).record.epochs[-1].test_accuracy
    accuracy = runs[0].record.epochs[-1].test_accuracy
    seconds = [run.seconds for run in runs]
    return [
        Row(
            f"Reuters, 10 epochs, end to end, {named(best)}",
            f"published: {published(*PUBLISHED_REUTERS):g} s of `fit` alone, 2 logical GPUs",
            f"{stated(seconds, 's', 1)}, test accuracy {accuracy:.4f} (in float32 {reference:.4f})",
            "14 s",
            at_most(14, seconds),
        )
    ]


def fashion_conv(data: Data, rounds: int) -> list[Row]:
    """Against Keras' `fit`."""
    best = specification("fashion-conv", "tensorflow-mirrored", 1000, precision="bfloat16", **SHORT)
    line = [OPPONENTS / "keras_fit.py", data.arrays("fashion_mnist")]
    same = specification("fashion-conv", "tensorflow-mirrored", 1000, **SHORT)
    return against("fashion-conv", best, same, "Keras' `fit`, float32", line, 1.5, data, rounds)


def fashion_cnn(data: Data, rounds: int) -> list[Row]:
    """Against the tutorial's loader, with the better of none and two processes of its own."""
    best = specification("fashion-cnn", "torch-ddp", 1024, 2, **SHORT, **TUNED_BFLOAT16)
    same = specification("fashion-cnn", "torch", 1024, **SHORT)
    folder = data.arrays("fashion_mnist")
    found = {
        workers: speed(OPPONENTS / "data_loader.py", folder, 1024, workers) for workers in (0, 2)
    }
    workers = max(found, key=lambda one: found[one])
    line = [OPPONENTS / "data_loader.py", folder, 1024, workers]
    words = f"DataLoader, {workers} workers, float32"
    return against("fashion-cnn, batch 1,024", best, same, words, line, 4.0, data, rounds)


def wide_resnet(data: Data, rounds: int) -> list[Row]:
    """Against Keras' `fit` over its ImageDataGenerator."""
    best = specification("wide-resnet", "torch", 64, **SHORT, **TUNED_BFLOAT16)
    same = specification("wide-resnet", "torch", 64, **SHORT)
    line = [OPPONENTS / "image_data_generator.py", data.arrays("fashion_mnist"), 64]
    words = "`fit` over ImageDataGenerator, float32"
    return against("wide-resnet, width 1, batch 64", best, same, words, line, 2.2, data, rounds)


def wide_resnet_accuracy(data: Data, epochs: int = 5) -> list[Row]:
    """What bfloat16 and tuning do to the accuracy."""
    best = specification("wide-resnet", "torch", 64, epochs=epochs, **TUNED_BFLOAT16)
    plain = specification("wide-resnet", "torch", 64, epochs=epochs)
    ours, theirs = (train(one, data).record.epochs[-1].test_accuracy for one in (best, plain))
    return [
        Row(
            f"wide-resnet after {epochs} epochs, {named(best)}",
            named(plain),
            f"test accuracy {ours:.4f} and {theirs:.4f} (n = 1)",
            "",
            "",
        )
    ]


def text_cnn(data: Data, rounds: int) -> list[Row]:
    """Against an own loop of one call a step."""
    way = partial(specification, "reuters-cnn", "tensorflow-mirrored", 32, **SHORT)
    vocabulary = json.loads(data.manifest("reuters").read_text())["vocabulary"]
    line = [OPPONENTS / "step_by_step.py", data.arrays("reuters"), vocabulary]
    words = "one `tf.function` call a step, float32"
    best, same = way(precision="bfloat16"), way()
    return against("text CNN, batch 32", best, same, words, line, 1.5, data, rounds)


def against(
    part: str,
    best: Spec,
    same: Spec,
    words: str,
    line: list,
    asked: float,
    data: Data,
    rounds: int,
) -> list[Row]:
    """Steady speed of the best way, and of one as the other program trains, over that program's, in turn.

    `asked`: of the best one.
    """
    ways = (best, same)
    taken = in_turn(rounds, *(partial(steady, spec, data) for spec in ways), partial(speed, *line))
    *ours, theirs = zip(*taken, strict=True)
    made = []
    for spec, speeds, limit in zip(ways, ours, (asked, None), strict=True):
        found = quotients(list(zip(speeds, theirs, strict=True)))
        made.append(
            Row(
                f"{part}, {named(spec)}",
                words,
                f"{stated(found, 'x')}: {median(speeds):,.0f} to {median(theirs):,.0f} examples/s",
                f"{limit} x" if limit else "",
                at_least(limit, found) if limit else "",
            )
        )
    return made


def steady(spec: Spec, data: Data) -> float:
    """The examples per second of a way's steps."""
    return train(spec, data, WINDOW).examples_per_second


def speed(*line: object) -> float:
    """The examples per second of an opponent."""
    return output_of(*line)["examples_per_second"]


def named(spec: Spec) -> str:
    """A way of training, in words."""
    replicas = f", {spec.replicas} replicas" if spec.replicas > 1 else ""
    return f"`{spec.backend['name']}`{replicas}, {spec.precision}, {spec.division}"
