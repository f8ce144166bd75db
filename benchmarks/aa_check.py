"""A/A check: one backend under two names. How often is a difference declared where there is none?

    snakemake --cores 2 results/data/fashion_mnist/manifest.json
    PYTHONPATH=scripts python benchmarks/aa_check.py results/data/fashion_mnist/manifest.json --folder aa

Trains one small workload under both names, a pair of adjacent runs per seed in random order, as the workflow
does; then asks the test that the workflow asks, of all pairs and, --repetitions times, of --size pairs in a
row. With 120 pairs, 20 repetitions of 6 share none. The records stay in --folder: a second call measures
only what is missing.

--sleep 0.05 makes it an A/B check: the second name runs a copy of the code whose engine sleeps in each step,
for 5 % of the time that a step took in a first run. --division tuned trains so: as installed, the allocator
makes whole runs of torch up to three times as slow as others, which no number of pairs outweighs.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from product import ROOT, configured, launch

from paragone.analysis import tidy
from paragone.analysis.metrics import METRICS
from paragone.analysis.pairwise import differences
from paragone.base.errors import UserError, entry_point
from paragone.config.expand import expand
from paragone.config.run_spec import AS_INSTALLED, TUNED, Spec
from paragone.records import record
from paragone.records.run_record import RunRecord

TWIN = "again"
WORKLOAD = "fashion-conv"
WORK = {"workload": WORKLOAD, "epochs": 1, "steps_per_epoch": 40}
BATCH = 100
ENGINE, STEP = "scripts/paragone/engines/torch.py", "        self.optimizer.step()\n"
SHOWN = ["first seed", "n", "effect", "low", "high", "p", "verdict"]


def pairs_of(backend: str, count: int, division: str) -> list[tuple[Spec, Spec]]:
    """The runs under both names, by seed."""
    config = configured()
    twin = f"{backend}-{TWIN}"
    config["backends"][twin] = config["backends"][backend]
    cell = {"backend": [backend, twin], "replicas": 1, "global_batch": BATCH, "division": division}
    config["experiments"] = {"aa": {**WORK, "repeats": count, "matrix": [cell]}}
    runs = expand(config, "aa")
    first, second = (
        [one for one in runs if one.backend["name"] == name] for name in (backend, twin)
    )
    return list(zip(first, second, strict=True))


def measure(spec: Spec, code: Path, options: argparse.Namespace) -> RunRecord:
    """The record of a run, which is trained by the programs in `code` unless it is there."""
    folder = options.folder / spec.name
    if (folder / "record.json").exists():
        return record.read(folder / "record.json")
    return launch(spec, options.manifest, options.data_folder, folder, 5, code)


def sleeping(folder: Path, seconds: float) -> Path:
    """A copy of the code whose engine sleeps for so long in each step."""
    for part in ("scripts", "rules"):
        shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True)
    text = (ROOT / ENGINE).read_text()
    if text.count(STEP) != 1:
        raise UserError(
            f"{ENGINE}: {STEP.strip()!r} is not there once; correct STEP in aa_check.py"
        )
    slept = f"        __import__('time').sleep({seconds})\n"
    (folder / ENGINE).write_text(text.replace(STEP, slept + STEP))
    return folder


def tabulated(made: list[RunRecord]) -> pd.DataFrame:
    """The runs as the workflow has them, parity taken for granted."""
    names = {one.spec.backend["name"] for one in made}
    return tidy.tables(made, "aa", {(WORKLOAD, name): True for name in names})[0]


def verdict(runs: pd.DataFrame) -> dict:
    """The row of speed of the table of differences."""
    (row,) = differences(runs, {}).query("metric == @METRICS[0].name").to_dict("records")
    return {"first seed": runs["seed"].min(), **row}


@entry_point
def main() -> None:
    """Run the check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path, help="of Fashion-MNIST")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    parser.add_argument("--folder", type=Path, required=True, help="where the records go")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--division", default=AS_INSTALLED, choices=[AS_INSTALLED, TUNED])
    parser.add_argument("--pairs", type=int, default=20, help="pairs that are trained")
    parser.add_argument("--size", type=int, default=6, help="pairs of a repetition")
    parser.add_argument("--repetitions", type=int, default=0, help="runs of pairs that are asked")
    parser.add_argument("--sleep", type=float, help="share of a step; backend torch alone")
    options = parser.parse_args()
    if options.sleep and options.backend != "torch":
        raise UserError("--sleep: is planted in the engine of the backend torch alone")
    pairs, code = pairs_of(options.backend, options.pairs, options.division), [ROOT, ROOT]
    if options.sleep:
        speed = tabulated([measure(pairs[0][0], ROOT, options)])[METRICS[0].column].iloc[0]
        code[1] = sleeping(options.folder / "code", options.sleep * BATCH / speed)
    rng = np.random.default_rng(0)
    made = [
        measure(pair[which], code[which], options) for pair in pairs for which in rng.permutation(2)
    ]
    runs = tabulated(made)
    last = max(options.pairs - options.size, 0)
    starts = np.linspace(0, last, options.repetitions).round()
    rows = [verdict(runs)]
    rows += [verdict(runs[runs["seed"].between(at, at + options.size - 1)]) for at in starts]
    found = pd.DataFrame(rows)[SHOWN]
    print(found.to_string(index=False))
    declared = found["verdict"].iloc[1:].str.endswith(METRICS[0].words).sum()
    print(
        f"declared faster: {declared} of {options.repetitions} repetitions of {options.size} pairs"
    )


if __name__ == "__main__":
    main()
