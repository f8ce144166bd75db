"""Print what contests have decided, the minutes that the rest takes, and what fits a budget."""

import argparse
import json
import math
from pathlib import Path

import pandas as pd
import yaml

from paragone.analysis.minutes import minutes_of, plan
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.base.processes import IN_FILE

NOTE = (
    "Minutes are those of contests: training runs come on top. Estimated: as on two shared cores, where "
    "fewer than three contests were held here."
)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--asked", type=json.loads, required=True, help="by config.questions")
    parser.add_argument("--primary", required=True, help="experiment of the primary question")
    parser.add_argument("--tables", required=True, type=Path, help="of earlier calls, if any")
    parser.add_argument("--budget", default="", help="90min or 8h, say; none if empty")
    parser.add_argument("--preset", required=True, type=Path, help="YAML to write: what fits")
    options = parser.parse_args(arguments)
    paths = {one["experiment"]: options.tables / one["experiment"] for one in options.asked}
    files = {name: folder / "differences.csv" for name, folder in paths.items()}
    tables = {name: pd.read_csv(path) for name, path in files.items() if path.exists()}
    budget = minutes_of(options.budget) if options.budget else math.inf
    found = plan(options.asked, options.primary, tables, budget)
    print(found.round(1).to_markdown(index=False), NOTE, sep="\n\n")
    if fitting := found.loc[found["fits"], "experiment"].tolist():
        write_text(yaml.safe_dump({"only": fitting}), options.preset)
        print(f"What fits, as a preset: snakemake all --configfile {options.preset}")


if __name__ == "__main__":
    main()
