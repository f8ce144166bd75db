"""A/A check: one backend under two names. How often is a difference declared where there is none?

    snakemake --cores 2 results/data/fashion_mnist/manifest.json
    PYTHONPATH=scripts python benchmarks/aa_check.py results/data/fashion_mnist/manifest.json --folder aa

Trains one small workload under both names in turn, a pair of runs a seed, as the workflow orders its
repeats; then asks the test that the workflow asks. The records stay in --folder: a second call measures
only what is missing. Prints the verdict over all pairs, and by number of repeats how many of many
resamples declare a difference: the pairs as they were measured (an effect of the order within a pair would
show), and over all exchanges of the names within pairs (the noise alone: at most 5 %).
"""

import argparse
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from paragone.analysis import tidy
from paragone.analysis.pairwise import METRICS, differences
from paragone.analysis.statistics import CONFIDENCE, paired_p
from paragone.config.expand import expand
from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_record import RunRecord

ROOT = Path(__file__).parents[1]
TWIN = "again"
WORK = {"workload": "fashion-conv", "epochs": 3, "steps_per_epoch": 40}
BATCH = {"global": 100}
RESAMPLES = 1000
SUBSETS = 20


def specs(backend: str, pairs: int) -> list[Spec]:
    """The runs, pair after pair."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    twin = f"{backend}-{TWIN}"
    config["backends"][twin] = config["backends"][backend]
    cell = {"backend": [backend, twin], "replicas": 1, "batch": BATCH}
    config["experiments"] = {"aa": {**WORK, "repeats": pairs, "matrix": [cell]}}
    return expand(config, "aa")


def measure(spec: Spec, folder: Path, options: argparse.Namespace) -> RunRecord:
    """The record of a run, which is trained unless it is there."""
    path = folder / spec.name / "record.json"
    if not path.exists():
        line = [sys.executable, str(ROOT / "scripts/train.py"), "--spec", spec.to_json()]
        line += ["--manifest", str(options.manifest), "--data-folder", str(options.data_folder)]
        line += ["--checkpoints", str(path.parent / "checkpoints"), "--threads", "2"]
        line += ["--window-seconds", "5"]
        line += ["--record", str(path), "--predictions", str(path.with_name("predictions.npz"))]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return record.read(path)


def declares(effects: np.ndarray) -> bool:
    """Whether these paired effects are called a difference."""
    return paired_p(effects) <= 1 - CONFIDENCE


def as_measured(effects: np.ndarray, repeats: int, rng: np.random.Generator) -> float:
    """Share of resamples, each of so many pairs, in which a difference is declared."""
    drawn = (rng.choice(effects, repeats, replace=False) for _ in range(RESAMPLES))
    return float(np.mean([declares(some) for some in drawn]))


def exchanged(effects: np.ndarray, repeats: int, rng: np.random.Generator) -> float:
    """The same, over all ways to exchange the names within the pairs of some resamples."""
    signs = [np.array(some) for some in product((-1, 1), repeat=repeats)]
    drawn = [rng.choice(effects, repeats, replace=False) for _ in range(SUBSETS)]
    return float(np.mean([declares(some * sign) for some in drawn for sign in signs]))


def main() -> None:
    """Run the check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path, help="of Fashion-MNIST")
    parser.add_argument("--data-folder", type=Path, default=Path("data"))
    parser.add_argument("--folder", type=Path, required=True, help="where the records go")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    made = [
        measure(spec, options.folder, options) for spec in specs(options.backend, options.pairs)
    ]
    names = sorted({one.spec.backend["name"] for one in made})
    runs, _ = tidy.tables(made, "aa", {("fashion-conv", name): True for name in names})
    (row,) = differences(runs, {}).query("metric == @METRICS[0].name").to_dict("records")
    print(
        f"{row['n']} pairs: {row['first']} / {row['second']} = {row['median']:.4f} "
        f"[{row['low']:.4f}, {row['high']:.4f}], p = {row['p']:.3f}: {row['verdict']}"
    )
    speeds = runs.pivot_table(index="seed", columns="backend", values=METRICS[0].column)
    effects = np.log(speeds[names[0]] / speeds[names[1]]).to_numpy()
    rng = np.random.default_rng(0)
    rates = [
        {
            "repeats": repeats,
            "as measured": as_measured(effects, repeats, rng),
            "names exchanged": exchanged(effects, repeats, rng),
        }
        for repeats in (3, 5, 6, 8)
        if repeats <= len(effects)
    ]
    print("declared differences, share of resamples")
    print(pd.DataFrame(rates).to_string(index=False))


if __name__ == "__main__":
    main()
