"""Write a bundle of what was measured, or check bundles: `bundle.py check a.zip b.zip`."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import bundle_archive
from paragone.analysis import tidy
from paragone.base.errors import entry_point

LICENSE = "https://creativecommons.org/licenses/by/4.0/"


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write or check, and print what bundles hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = parser.add_subparsers(required=True)
    writing = modes.add_parser("write", help="one archive of results and config")
    writing.set_defaults(do=_write)
    writing.add_argument("--results", type=Path, required=True, help="the folder of all files")
    writing.add_argument(
        "--runs", type=Path, required=True, help="runs.parquet: the runs and their experiments"
    )
    writing.add_argument(
        "--contests", type=json.loads, default={}, help="questions of each experiment, JSON"
    )
    writing.add_argument("--files", type=Path, nargs="+", required=True, help="files to pack")
    writing.add_argument("--config", type=json.loads, required=True, help="the whole config, JSON")
    writing.add_argument("--license", default=LICENSE, help="address of the license of the records")
    writing.add_argument("--output", type=Path, required=True, help="archive to write")
    checking = modes.add_parser("check", help="each archive: whole, unchanged, of a known schema")
    checking.set_defaults(do=_check)
    checking.add_argument("bundles", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    options.do(options)


def _write(options: argparse.Namespace) -> None:
    runs = tidy.read(options.runs)
    listed = runs.assign(experiment=runs["experiment"].str.split()).explode("experiment")
    experiments = listed.groupby("experiment")["run"].agg(list).to_dict()
    listing = bundle_archive.pack(
        options.results,
        options.files,
        options.config,
        experiments,
        options.contests,
        options.license,
        options.output,
    )
    size = options.output.stat().st_size / 1e6
    print(f"{options.output}: {len(listing.files)} files, {size:.1f} MB, digest {listing.digest}")


def _check(options: argparse.Namespace) -> None:
    for path in options.bundles:
        listing, contents = bundle_archive.read(path)
        records = Counter(name.split("/")[0] for name in contents if name.endswith("record.json"))
        held = f"{records['runs']} runs, {records['contests']} records of contests"
        machines = "; ".join(listing.machines)
        print(f"{path}: {held} on {machines}; digest {listing.digest}; {listing.license}")


if __name__ == "__main__":
    main()
