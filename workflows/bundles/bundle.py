"""Write a bundle of what was measured, or check bundles: `bundle.py check a.zip b.zip`."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import bundle_archive
from paragone.analysis import tidy
from paragone.base.errors import entry_point
from paragone.base.typed_json import Job, read_job

LICENSE = "https://creativecommons.org/licenses/by/4.0/"


class Packing(Job, kw_only=True):
    """The files that a bundle gets, below the folder of results that it is written into.

    `runs`: the table of the runs and their experiments. `questions`: those of each experiment, which
    `contests` are the records of. `config`: the whole config.
    """

    runs: Path
    records: tuple[Path, ...]
    contests: tuple[Path, ...] = ()
    predictions: tuple[Path, ...] = ()
    manifests: tuple[Path, ...] = ()
    parity: tuple[Path, ...] = ()
    products: tuple[Path, ...] = ()
    questions: dict[str, list[str]]
    config: dict[str, Any]
    bundle: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write or check, and print what bundles hold."""
    names = sys.argv[1:] if arguments is None else arguments
    if names[:1] == ["check"]:
        check([Path(name) for name in names[1:]])
    else:
        pack(read_job(Packing, names))


def pack(job: Packing) -> None:
    """Write a bundle."""
    runs = tidy.read(job.runs)
    listed = runs.assign(experiment=runs["experiment"].str.split()).explode("experiment")
    listing = bundle_archive.pack(
        job.bundle.parent,
        [*job.records, *job.contests, *job.predictions, *job.manifests, *job.parity, *job.products],
        job.config,
        listed.groupby("experiment")["run"].agg(list).to_dict(),
        job.questions,
        LICENSE,
        job.bundle,
    )
    size = job.bundle.stat().st_size / 1e6
    print(f"{job.bundle}: {len(listing.files)} files, {size:.1f} MB, digest {listing.digest}")


def check(bundles: list[Path]) -> None:
    """Print what each archive holds: it is whole, unchanged, and of a known schema."""
    for path in bundles:
        listing, contents = bundle_archive.read(path)
        records = Counter(name.split("/")[0] for name in contents if name.endswith("record.json"))
        held = f"{records['runs']} runs, {records['contests']} records of contests"
        machines = "; ".join(listing.machines)
        print(f"{path}: {held} on {machines}; digest {listing.digest}; {listing.license}")


if __name__ == "__main__":
    main()
