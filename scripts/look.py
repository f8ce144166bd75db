"""Look at the repeats that an experiment has so far: is its question decided?"""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.analysis.compliance import checks
from paragone.analysis.pairwise import UNDECIDED, differences
from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.config.looks import LOOKS
from paragone.records import parity_reports


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write whether no pair is undecided on the metric: more repeats then add nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True)
    parser.add_argument("--records", type=Path, nargs="+", required=True, metavar="record.json")
    parser.add_argument("--parity", type=Path, nargs="+", required=True, metavar="workload.json")
    parser.add_argument("--manifests", type=Path, nargs="*", default=[], metavar="manifest.json")
    parser.add_argument("--metric", required=True, help="of paragone.analysis.pairwise")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    named = {options.experiment: {path.parent.name for path in options.records}}
    broken = checks.find(options.records, options.parity, options.manifests, named)
    records = tidy.read_records(options.records, broken)
    parity = parity_reports.read_parity(options.parity)
    runs, _ = tidy.tables(records, options.experiment, parity, violations=broken)
    found = differences(runs, {}, LOOKS)
    verdicts = found.loc[found["metric"] == options.metric, "relation"]
    undecided = int((verdicts == UNDECIDED).sum())
    repeats = int(runs["seed"].nunique())
    write_json({"repeats": repeats, "decided": not undecided}, options.output)
    print(
        f"{options.experiment}: {undecided} of {len(verdicts)} pairs undecided, {repeats} repeats"
    )


if __name__ == "__main__":
    main()
