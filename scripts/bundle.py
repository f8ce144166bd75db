"""Write a bundle of what was measured, or check bundles: `bundle.py check a.zip b.zip`."""

import argparse
import json
from pathlib import Path

from paragone.analysis import tidy
from paragone.base.errors import entry_point
from paragone.records.bundles import pack, unpack


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write or check, and print what bundles hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = parser.add_subparsers(required=True)
    writing = modes.add_parser("write", help="one archive of results, config and metadata")
    writing.set_defaults(do=_write)
    writing.add_argument("--results", type=Path, required=True, help="the folder of all files")
    writing.add_argument(
        "--runs", type=Path, required=True, help="runs.parquet: which runs, and of what"
    )
    writing.add_argument(
        "--files", type=Path, nargs="*", default=[], help="measured beside the runs"
    )
    writing.add_argument("--config", type=json.loads, required=True, help="the whole config, JSON")
    writing.add_argument(
        "--license", required=True, help="under which others may use it: an address"
    )
    writing.add_argument("--output", type=Path, required=True, help="archive to write")
    checking = modes.add_parser("check", help="each archive: whole, unchanged, of a known schema")
    checking.set_defaults(do=_check)
    checking.add_argument("bundles", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    options.do(options)


def _write(options: argparse.Namespace) -> None:
    table = tidy.read(options.runs)
    each = table.assign(experiment=table["experiment"].str.split()).explode("experiment")
    folders = [options.results / "runs" / run for run in table["run"]]
    paths = [path for folder in folders for path in map(folder.joinpath, pack.OF_RUN)]
    listing = pack.pack(
        options.results,
        [*(path for path in paths if path.exists()), *options.files],
        options.config,
        each.groupby("experiment")["run"].agg(list).to_dict(),
        options.license,
        options.output,
    )
    size = options.output.stat().st_size / 1e6
    print(f"{options.output}: {len(listing.files)} files, {size:.1f} MB, digest {listing.digest}")


def _check(options: argparse.Namespace) -> None:
    for path in options.bundles:
        listing, contents = unpack.read(path)
        runs = sum(name.endswith("record.json") for name in contents)
        machines = "; ".join(listing.machines)
        print(f"{path}: {runs} runs on {machines}; digest {listing.digest}; {listing.license}")


if __name__ == "__main__":
    main()
