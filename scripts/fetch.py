"""Find and check the raw files of one data set; write where they are to a small JSON file."""

import argparse
import json
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.data import locate, store


@entry_point
def main() -> None:
    """Write source.json for one data set; see paragone/data/source.py."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True)
    parser.add_argument(
        "--config-data", required=True, type=json.loads, help="the config's `data` block, as JSON"
    )
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    found = locate.find(options.dataset, options.config_data)
    store.write_json(options.output, found)
    print(f"{found['dataset']}: {found['source']}, edition {found['edition']} ({found['origin']})")


if __name__ == "__main__":
    main()
