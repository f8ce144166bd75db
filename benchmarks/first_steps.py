"""How far from false alarms is the comparison of first steps?

    snakemake --cores 2 results/data/fashion_mnist/manifest.json
    PYTHONPATH=scripts python benchmarks/first_steps.py results/data/fashion_mnist/manifest.json

Takes the first steps of many seeds on one backend, as runs do. Prints for each the largest deviation over
what is allowed for its group, and how many were refused: each is a false alarm, unless the engine is wrong.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

from product import configured

from paragone import data, engines
from paragone.config.expand import expand, first_steps
from paragone.models.initial_weights import initial
from paragone.parity.first_steps import compared, reference, take, write


def main() -> None:
    """Run the check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path, help="of the workload's data set")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    parser.add_argument("--workload", default="fashion-cnn")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    config = configured()
    cell = {"backend": options.backend, "replicas": 1, "global_batch": options.batch}
    cell |= {"precision": options.precision}
    experiment = {"workload": options.workload, "repeats": options.seeds, "matrix": [cell]}
    dataset = data.load(options.manifest, options.data_folder)
    refused = 0
    for spec in expand({**config, "experiments": {"one": experiment}}, "one"):
        if (expected := first_steps(spec)) is None:
            parser.error(f"{options.workload} has dropout: its first steps are not compared")
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            write(reference(expected, dataset, None), Path(file.name))
            engine = engines.create(spec)
            engine.build(spec, dataset, options.threads)
            shapes = {name: values.shape for name, values in engine.weights().items()}
            engine.set_weights(initial(shapes, spec, None)[0])
            verdict = compared(
                Path(file.name),
                partial(take, engine, spec, dataset),
                spec.precision,
            )
        found, allowed = verdict["deviations"], verdict["allowed"]
        if not allowed:
            parser.error(f"{spec.name}: {verdict['reason']}")
        refused += verdict["reason"] is not None
        print(
            f"seed {spec.seed}: {max(found[key] / allowed[key] for key in found):.2f}", flush=True
        )
    print(f"{refused} of {options.seeds} refused")


if __name__ == "__main__":
    main()
