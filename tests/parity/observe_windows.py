"""Observe the edges of one backend's timed windows: a program, as observe_engine.py is.

    python observe_windows.py <backend> <manifest> <data folder>

Prints one JSON object: digests of the full state before and after a warm-up, how often the host waited
for the device in epochs of different lengths, and where the time of a product went that was enqueued
with an epoch's last batch.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace
from observe_engine import Lab

from paragone import data, engines
from paragone.data.batches import noise_batches, train_batches
from paragone.data.random_streams import framework_seed

SIDE = 3000  # of the product's matrices
LENGTHS = (2, 6)  # steps


def torch_state(folder: Path) -> dict[str, Any]:
    import torch

    state = torch.load(folder / "state.pt", weights_only=True)
    moments = state["optimizer"]["state"]
    return state["model"] | {
        f"optimizer/{number}/{key}": value
        for number, values in moments.items()
        for key, value in values.items()
    }


def tensorflow_state(folder: Path) -> dict[str, Any]:
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(folder / "state"))
    names = [name for name in reader.get_variable_to_dtype_map() if "OBJECT_GRAPH" not in name]
    return {name: reader.get_tensor(name) for name in names}


def state(engine: engines.Engine, read: Callable) -> dict[str, str]:
    """A digest of every array of weights, statistics and optimiser, by name."""
    with TemporaryDirectory() as folder:
        engine.save(Path(folder))
        arrays = read(Path(folder))
    return {
        name: hashlib.sha256(np.asarray(value).tobytes()).hexdigest()
        for name, value in arrays.items()
    }


def torch_waits(run: Callable) -> int:
    """How often `run` reads a tensor's values on the host."""
    import torch

    count = 0

    def counted(method: Callable) -> Callable:
        def read(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            return method(*arguments, **options)

        return read

    with ExitStack() as stack:
        for name in ("item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__"):
            method = counted(getattr(torch.Tensor, name))
            stack.enter_context(patch.object(torch.Tensor, name, method))
        run()
    return count


def xla_waits(run: Callable) -> int:
    """How often `run` transfers from the device."""
    from torch_xla.debug import metrics

    def transfers() -> int:
        found = metrics.metric_data("TransferFromDeviceTime")
        return found[0] if found else 0

    before = transfers()
    run()
    return transfers() - before


def tensorflow_waits(run: Callable) -> int:
    """How often `run` reads a tensor's value on the host."""
    from tensorflow.python.framework import ops

    read, count = ops._EagerTensorBase._numpy, [0]

    def counted(tensor):
        count[0] += 1
        return read(tensor)

    ops._EagerTensorBase._numpy = counted
    try:
        run()
    finally:
        ops._EagerTensorBase._numpy = read
    return count[0]


def torch_product(engine: engines.Engine) -> tuple[Callable, Callable]:
    matrix = engine.put(np.ones((SIDE, SIDE), np.float32))
    return lambda: matrix @ matrix, lambda product: product[0, 0].item()


def tensorflow_product(_: engines.Engine) -> tuple[Callable, Callable]:
    import tensorflow as tf

    matrix = tf.ones((SIDE, SIDE))
    return lambda: matrix @ matrix, lambda product: product[0, 0].numpy()


def xla_compilations(_: engines.Engine) -> int:
    """How many programs this process has compiled."""
    from torch_xla.debug import metrics

    return (metrics.metric_data("CompileTime") or (0,))[0]


def tensorflow_compilations(engine: engines.Engine) -> int:
    """How many graphs of a training epoch this engine has traced."""
    return engine._train_loop.experimental_get_tracing_count()


TOOLS = {
    "torch": (torch_state, torch_waits, torch_product, lambda _: 0),
    "torch_ddp": (torch_state, torch_waits, torch_product, lambda _: 0),
    "torch_xla": (torch_state, xla_waits, torch_product, xla_compilations),
    "tensorflow": (
        tensorflow_state,
        tensorflow_waits,
        tensorflow_product,
        tensorflow_compilations,
    ),
}


def product_window(lab: Lab, engine: engines.Engine, parts: tuple) -> dict[str, float]:
    """Seconds of an epoch without and with a product at its end, and of waiting for it afterwards."""
    start, wait = parts
    spec = replace(lab.spec, steps_per_epoch=LENGTHS[0])
    kept = []

    def batches(with_product: bool) -> Iterator[tuple]:
        for step, batch in enumerate(train_batches(lab.dataset, spec, 1, engine.shard), start=1):
            if with_product and step == spec.steps_per_epoch:
                kept.append(start())
            yield batch

    def epoch(with_product: bool) -> float:
        begun = time.perf_counter()
        engine.train_epoch(
            framework_seed(0, 1), spec.learning_rate(1), batches(with_product), LENGTHS[0]
        )
        return time.perf_counter() - begun

    rows = []
    for _ in range(4):  # the first compiles
        begun = time.perf_counter()
        wait(start())
        alone = time.perf_counter() - begun
        plain, loaded = epoch(False), epoch(True)
        begun = time.perf_counter()
        wait(kept.pop())
        rows.append([alone, plain, loaded, time.perf_counter() - begun])
    alone, plain, loaded, left = np.median(rows[1:], axis=0)
    return {"alone": alone, "plain": plain, "loaded": loaded, "left": left}


def main() -> None:
    """Run the program."""
    backend, manifest, folder = sys.argv[1:]
    facts: dict[str, Any] = {}
    dataset = data.load(Path(manifest), Path(folder))
    # Adam; momentum and batch norm. The waits are counted with the last: PyTorch's Adam keeps its step
    # counts on the host where the device is a CPU, and to read those is not to wait for a device.
    for workload in ("fashion-conv", "fashion-cnn"):
        lab = Lab(workload, backend, 1, dataset)
        read, waits, product, compilations = TOOLS[lab.spec.backend["engine"]]
        engine = lab.fresh()
        noise = noise_batches(dataset, lab.spec, engine.shard)
        compiled = compilations(engine)
        engine.warm_up(lab.spec.learning_rate(1), *noise)
        programs = compilations(engine) - compiled
        lab.train(engine, 1)  # so that the optimiser has a state to lose
        before = state(engine, read)
        engine.warm_up(lab.spec.learning_rate(1), *noise)
        facts[workload] = {"before": before, "after": state(engine, read), "programs": programs}
        fresh = lab.fresh()
        fresh.warm_up(lab.spec.learning_rate(1), *noise)
        compiled = compilations(fresh)
        lab.train(fresh, 1)
        facts[workload]["compiled"] = compilations(fresh) - compiled
    facts["waits"] = []
    for steps in LENGTHS:
        spec = replace(lab.spec, steps_per_epoch=steps)
        lab.train(engine, 2, spec)
        facts["waits"].append(waits(lambda spec=spec: lab.train(engine, 3, spec)))
    facts["window"] = product_window(lab, engine, product(engine))
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
