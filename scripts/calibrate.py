"""Calibrate the cost model of a training step from measured steps and all-reduces."""

import argparse
from pathlib import Path

import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.scaling.model import calibrate, write_models
from paragone.base.errors import entry_point


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the models, and the steps and all-reduces that they were fitted to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="per experiment")
    parser.add_argument("--all-reduces", type=Path, required=True, help="allreduce.parquet")
    parser.add_argument("--models", type=Path, required=True, help="JSON file to write")
    for name in ("steps", "all-reduce-fit"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True, help=".csv, .parquet")
    options = parser.parse_args(arguments)
    runs = pd.concat([tidy.read(path) for path in options.runs], ignore_index=True)
    models, steps, cases = calibrate(runs, tidy.read(options.all_reduces))
    write_models(models, options.models)
    for frame, paths in ((steps, options.steps), (cases, options.all_reduce_fit)):
        for path in paths:
            tidy.write(frame, path)


if __name__ == "__main__":
    main()
