"""The ten costliest operations of a training step in eager PyTorch, by PyTorch's own profiler.

    snakemake --cores 2 results/data/reuters/manifest.json
    PYTHONPATH=scripts python benchmarks/profile_step.py reuters-cnn 32

Why is a way as fast as it is? As installed; times hold the profiler's own cost, and no timed run is profiled.
"""

import argparse
from itertools import islice
from pathlib import Path

from product import Data, specification
from torch.profiler import ProfilerActivity, profile

from paragone import data, engines
from paragone.data.batches import noise_batches, train_batches

SHOWN = 10


def main() -> None:
    """Train some steps under the profiler, and print where their time went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload")
    parser.add_argument("batch", type=int)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("results"), help="with manifests")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    options = parser.parse_args()
    spec = specification(options.workload, "torch", options.batch, precision=options.precision)
    where = Data(options.results, options.data_folder)
    dataset = data.load(where.manifest(spec.workload["dataset"]), where.folder)
    engine = engines.create(spec)
    engine.build(spec, dataset, options.threads)
    engine.warm_up(spec.learning_rate(1), *noise_batches(dataset, spec))

    def train(steps: int) -> None:
        batches = islice(train_batches(dataset, spec, 1), steps)
        engine.train_epoch(1, spec.learning_rate(1), batches, steps)

    train(options.steps)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        train(options.steps)
    rows = sorted(found.key_averages(), key=lambda one: -one.self_cpu_time_total)
    whole = sum(one.self_cpu_time_total for one in rows)
    print(f"{whole / options.steps / 1000:.2f} ms a step")
    for one in rows[:SHOWN]:
        each = one.self_cpu_time_total / options.steps / 1000
        print(f"{each:8.2f} ms {one.self_cpu_time_total / whole:5.0%}  {one.key}")


if __name__ == "__main__":
    main()
