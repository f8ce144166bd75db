"""Print what the repeats of each experiment can decide; write a preset of those that fit a budget."""

import argparse
import json
from pathlib import Path

import pandas as pd
import yaml

from paragone.analysis import tidy
from paragone.analysis.repeats import plan, seconds_of
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.base.processes import IN_FILE


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--questions", required=True, help="of paragone.config.questions, JSON")
    parser.add_argument("--primary", required=True, help="`primary` of the config, JSON")
    parser.add_argument("--tables", required=True, type=Path, help="of an earlier run, if any")
    parser.add_argument("--budget", default="", help="90min or 8h, say; none if empty")
    parser.add_argument("--preset", required=True, type=Path, help="YAML to write")
    options = parser.parse_args(arguments)
    questions, primary = json.loads(options.questions), json.loads(options.primary)
    runs, differences = options.tables / "runs.parquet", {}
    for one in questions:
        path = options.tables / one["name"] / "differences.csv"
        if path.exists():
            differences[one["name"]] = pd.read_csv(path)
    found = plan(
        questions,
        primary,
        tidy.read(runs) if runs.exists() else pd.DataFrame(),
        differences,
        seconds_of(options.budget) if options.budget else None,
    )
    print(found.round(0).to_markdown(index=False))
    minutes = (found["seconds"] * found["proposed"]).sum(min_count=len(found)) / 60
    print(f"\nTraining as proposed: {minutes:.0f} min." if minutes == minutes else "")
    repeats = dict(zip(found["experiment"], map(int, found["proposed"]), strict=True))
    preset = {"experiments": {name: {"repeats": count} for name, count in repeats.items()}}
    write_text(yaml.safe_dump(preset, sort_keys=False), options.preset)
    print(f"As a preset: snakemake all --configfile {options.preset}")


if __name__ == "__main__":
    main()
