"""Rows of `make bench` on training: the product at its best beside programs as tutorials write them."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from product import Data, output_of, specification, train
from rows import NO, Row, at_least, at_most, in_turn, quotients, stated

from paragone.config.run_spec import TUNED, Spec

OPPONENTS = Path(__file__).parent / "opponents"
# Without these instructions bfloat16 is emulated on a CPU, and several times slower than float32.
_FLAGS = set(Path("/proc/cpuinfo").read_text().split())
PRECISION = "bfloat16" if _FLAGS & {"avx512_bf16", "amx_bf16"} else "float32"
BEST: dict[str, Any] = {"tuning": TUNED, "precision": PRECISION}
# On JAX; README.md has the times of tuned TensorFlow. In bfloat16 no run of it was quicker.
BEST_TEXT_CNN: dict[str, Any] = {"tuning": TUNED, "precision": "float32"}
SHORT: dict[str, Any] = {"epochs": 2}  # the second one is timed, as of the opponents


def rows(data: Data, rounds: int) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [
        partial(fashion_cnn_whole, data),
        partial(reuters_whole, data, 3),
        partial(fashion_conv, data, rounds),
        partial(fashion_cnn, data, rounds),
        partial(wide_resnet, data, rounds),
        partial(text_cnn, data, rounds),
        partial(nano_gpt, data, 3),
        partial(d2l_lenet, data, 3),
    ]


def fashion_cnn_whole(data: Data) -> list[Row]:
    """The 50 published epochs, from the start of the command to its end."""
    spec = specification("fashion-cnn", "torch-ddp", 1024, 2, epochs=50, **BEST)
    run = train(spec, data)
    return [
        Row(
            f"fashion-cnn, 50 epochs, end to end, {label(spec)}",
            "published: 269 s with the loading of data, 8 TPU cores",
            f"{stated([run.seconds], 's', 0)}, test accuracy {run.test_accuracy:.4f}",
            "90 s; 130 s on a slow machine; at 0.89 or more",
            each_limit((90, 130), [run.seconds]) if run.test_accuracy >= 0.89 else NO,
        )
    ]


def reuters_whole(data: Data, rounds: int) -> list[Row]:
    """The ten published epochs, from the start of the command to its end."""
    best = specification("reuters-cnn", "jax", 32, epochs=10, **BEST_TEXT_CNN)
    untuned = specification("reuters-cnn", "tensorflow-mirrored", 32, epochs=10)
    runs = [train(best, data) for _ in range(rounds)]
    accuracy, reference = runs[0].test_accuracy, train(untuned, data).test_accuracy
    seconds = [run.seconds for run in runs]
    return [
        Row(
            f"Reuters, 10 epochs, end to end, {label(best)}",
            "published: 58.5 s of `fit` alone, 2 logical GPUs",
            f"{stated(seconds, 's', 1)}, test accuracy {accuracy:.4f} ({label(untuned)}: {reference:.4f})",
            "14 s; 20 s on a slow machine",
            each_limit((14, 20), seconds),
        )
    ]


def fashion_conv(data: Data, rounds: int) -> list[Row]:
    """Against Keras' `fit`."""
    best = specification("fashion-conv", "tensorflow-mirrored", 1000, **SHORT, **BEST)
    line = [OPPONENTS / "keras_fit.py", data.arrays("fashion_mnist")]
    untuned = specification("fashion-conv", "tensorflow-mirrored", 1000, **SHORT)
    return against("fashion-conv", best, untuned, "Keras' `fit`, float32", line, 1.5, data, rounds)


def fashion_cnn(data: Data, rounds: int) -> list[Row]:
    """Against the tutorial's loader, with the better of none and two processes of its own."""
    best = specification("fashion-cnn", "torch-ddp", 1024, 2, **SHORT, **BEST)
    untuned = specification("fashion-cnn", "torch", 1024, **SHORT)
    folder = data.arrays("fashion_mnist")
    program = OPPONENTS / "data_loader.py"
    speeds = {workers: speed(program, folder, 1024, workers) for workers in (0, 2)}
    workers = max(speeds, key=lambda count: speeds[count])
    line = [program, folder, 1024, workers]
    opponent = f"DataLoader, {workers} workers, float32"
    return against("fashion-cnn, batch 1,024", best, untuned, opponent, line, 4.0, data, rounds)


def wide_resnet(data: Data, rounds: int) -> list[Row]:
    """Against Keras' `fit` over its ImageDataGenerator."""
    best = specification("wide-resnet", "torch", 64, **SHORT, **BEST)
    untuned = specification("wide-resnet", "torch", 64, **SHORT)
    line = [OPPONENTS / "image_data_generator.py", data.arrays("fashion_mnist"), 64]
    opponent = "`fit` over ImageDataGenerator, float32"
    return against(
        "wide-resnet, width 1, batch 64", best, untuned, opponent, line, 2.2, data, rounds
    )


def text_cnn(data: Data, rounds: int) -> list[Row]:
    """Against an own loop of one call a step."""
    untuned = specification("reuters-cnn", "tensorflow-mirrored", 32, **SHORT)
    vocabulary = json.loads(data.manifest("reuters").read_text())["vocabulary"]
    line = [OPPONENTS / "step_by_step.py", data.arrays("reuters"), vocabulary]
    opponent = "one `tf.function` call a step, float32"
    best = specification("reuters-cnn", "jax", 32, **SHORT, **BEST_TEXT_CNN)
    return against("text CNN, batch 32", best, untuned, opponent, line, 1.5, data, rounds)


def nano_gpt(data: Data, rounds: int) -> list[Row]:
    """The published iterations, against a loop as in the public program."""
    best = specification("nanogpt-cpu", "torch-compile", 12, **BEST)
    untuned = specification("nanogpt-cpu", "torch", 12)
    line = [OPPONENTS / "nano_gpt.py", data.arrays("tiny_shakespeare"), best.epochs * 250]
    opponent = "nanoGPT's own loop, float32"
    return whole(
        "nanoGPT, 2,000 iterations", best, untuned, opponent, line, 1.6, "loss", data, rounds
    )


def d2l_lenet(data: Data, rounds: int) -> list[Row]:
    """The published epochs, against the book's loop, with the better of none and the book's four workers."""
    best = specification("lenet", "torch", 256, tuning=TUNED)
    untuned = specification("lenet", "torch", 256)
    program = [OPPONENTS / "d2l_lenet.py", data.arrays("fashion_mnist")]
    seconds = {workers: timed(*program, 1, workers)[1] for workers in (0, 4)}
    workers = min(seconds, key=lambda count: seconds[count])
    line = [*program, best.epochs, workers]
    opponent = f"the book's own loop, {workers} workers, float32"
    return whole("LeNet, 10 epochs", best, untuned, opponent, line, 2.0, "accuracy", data, rounds)


def whole(
    part: str,
    best: Spec,
    untuned: Spec,
    opponent: str,
    line: list,
    asked: float,
    score: str,
    data: Data,
    rounds: int,
) -> list[Row]:
    """A whole training from the start of a command to its end, in turn with that of another program.

    Best variant, variant as the other program trains, and limit: as of `against`. `score`: loss or accuracy,
    on the test examples at the end, of the last round.
    """
    scores: dict[str, float] = {}

    def ours(spec: Spec) -> float:
        run = train(spec, data)
        scores[label(spec)] = getattr(run.record.epochs[-1], f"test_{score}")
        return run.seconds

    def theirs() -> float:
        printed, seconds = timed(*line)
        scores[opponent] = printed[f"test_{score}"]
        return seconds

    seconds, opponent_seconds = zip(*in_turn(rounds, partial(ours, best), theirs), strict=True)
    once = (ours(untuned),)  # it takes long and has no limit; beside the last of the others
    measured = (
        (best, seconds, opponent_seconds, asked),
        (untuned, once, opponent_seconds[-1:], None),
    )
    return [
        compared(
            f"{part}, end to end, {label(spec)}",
            opponent,
            quotients([*zip(beside, product_seconds, strict=True)]),
            f"{median(product_seconds):.0f} s to {median(beside):.0f} s, test {score} "
            f"{scores[label(spec)]:.4f} to {scores[opponent]:.4f}",
            limit,
        )
        for spec, product_seconds, beside, limit in measured
    ]


def against(
    part: str,
    best: Spec,
    untuned: Spec,
    opponent: str,
    line: list,
    asked: float,
    data: Data,
    rounds: int,
) -> list[Row]:
    """Steady speed of the best variant, and of one as the other program trains, over that program's, in turn.

    `asked` is the limit of the best variant.
    """
    variants = (best, untuned)
    measures = [partial(steady, spec, data) for spec in variants]
    taken = in_turn(rounds, *measures, partial(speed, *line))
    *ours, theirs = zip(*taken, strict=True)
    return [
        compared(
            f"{part}, {label(spec)}",
            opponent,
            quotients([*zip(speeds, theirs, strict=True)]),
            f"{median(speeds):,.0f} to {median(theirs):,.0f} examples/s",
            limit,
        )
        for spec, speeds, limit in zip(variants, ours, (asked, None), strict=True)
    ]


def compared(part: str, opponent: str, ratios: list[float], shown: str, limit: float | None) -> Row:
    """The row of a variant: how many times as fast as the other program, and what was measured of both."""
    return Row(
        part,
        opponent,
        f"{stated(ratios, 'x')}: {shown}",
        f"{limit} x" if limit else "",
        at_least(limit, ratios) if limit else "",
    )


def each_limit(limits: Sequence[float], seconds: Sequence[float]) -> str:
    """Return whether times in seconds keep each of several limits, in seconds, in words."""
    return "; ".join(at_most(limit, seconds) for limit in limits)


def steady(spec: Spec, data: Data) -> float:
    """Return the examples per second of a run's second epoch."""
    return train(spec, data).examples_per_second


def timed(*line: object) -> tuple[Any, float]:
    """What an opponent prints, and the seconds that its command takes."""
    begun = time.perf_counter()
    return output_of(*line), time.perf_counter() - begun


def speed(*line: object) -> float:
    """The examples per second of an opponent."""
    return output_of(*line)["examples_per_second"]


def label(spec: Spec) -> str:
    """A variant in words."""
    replicas = f", {spec.replicas} replicas" if spec.replicas > 1 else ""
    return f"`{spec.backend.name}`{replicas}, {spec.precision}, {spec.tuning_name}"
