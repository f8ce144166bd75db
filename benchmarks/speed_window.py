"""A/A within one run: how far do speed windows differ where nothing does?

    snakemake --cores 2 results/data/fashion_mnist/manifest.json
    PYTHONPATH=scripts python benchmarks/speed_window.py results/data/fashion_mnist/manifest.json

Trains an epoch, then one speed window after the other. Prints the rate and the per-epoch constant of each,
the relative standard deviation of the rates, and the ratio of odd to even windows with its 95 % interval,
which holds 1 unless the machine changed.
"""

import argparse
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from product import specification
from scipy import stats

from paragone import data, engines
from paragone.config.run_spec import Spec
from paragone.data.batches import noise_batches, train_batches
from paragone.data.random_streams import framework_seed
from paragone.records.run_metrics import steady
from paragone.training.clocks import Ledger
from paragone.training.speed_window import SpeedWindow
from paragone.workers.rendezvous import Rendezvous


def spec_of(backend: str) -> Spec:
    """One replica, batches of 100."""
    return specification("fashion-conv", backend, 100, epochs=1, steps_per_epoch=20)


def main() -> None:
    """Run the check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path, help="of Fashion-MNIST")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each window")
    parser.add_argument("--windows", type=int, default=12)
    options = parser.parse_args()
    spec, dataset = spec_of(options.backend), data.load(options.manifest, options.data_folder)
    engine = engines.create(spec)
    engine.build(spec, dataset, options.threads)
    rate = spec.learning_rate(1)
    engine.warm_up(rate, *noise_batches(dataset, spec))
    steps = spec.steps(len(dataset.train_labels))
    begun = time.perf_counter()
    engine.train_epoch(framework_seed(0, 1), rate, train_batches(dataset, spec, 1), steps)
    spent = time.perf_counter() - begun
    last = {"epoch": 1, "learning_rate": rate, "steps": steps, "train_seconds": spent}
    window = SpeedWindow(options.seconds, 10 * options.seconds, Rendezvous(None, 1, 0))
    rates = []
    for _ in range(options.windows):
        epochs = window.measure(engine, spec, dataset, last, Ledger(), nullcontext)
        found = steady(epochs, 100)
        assert found
        rates.append(found.examples_per_second)
        constant = 1000 * (found.constant_seconds or 0.0)
        print(
            f"{found.examples_per_second:,.0f} examples/s, {constant:.2f} ms an epoch, "
            f"{found.steps} steps in {found.seconds:.2f} s",
            flush=True,
        )
    spread = np.std(rates, ddof=1) / np.mean(rates)
    pairs = np.log(np.divide(rates[0::2], rates[1::2]))
    low, high = np.exp(stats.ttest_1samp(pairs, 0).confidence_interval())
    print(
        f"relative standard deviation {spread:.4f}; odd / even windows {np.exp(pairs.mean()):.4f} "
        f"[{low:.4f}, {high:.4f}]"
    )


if __name__ == "__main__":
    main()
