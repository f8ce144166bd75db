"""Find and check the files of a data set, or the published weights of a model; describe them as JSON."""

import argparse
import json
from pathlib import Path

from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.base.processes import IN_FILE, take_environment
from paragone.data import locate
from paragone.models import pretrained


@entry_point
def main() -> None:
    """Run the program; for the content of its output see `locate.find` and `pretrained.provide`."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--dataset")
    wanted.add_argument("--model")
    parser.add_argument(
        "--block", type=json.loads, help="the data set's block of `datasets`, as JSON"
    )
    parser.add_argument(
        "--config-data", required=True, type=json.loads, help="the config's `data` block, as JSON"
    )
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    if options.dataset:
        if options.block is None:
            parser.error("--dataset needs --block")
        found = locate.find(options.dataset, options.block, options.config_data)
        text = (
            f"{found['dataset']}: {found['source']}, edition {found['edition']} ({found['origin']})"
        )
    else:
        found = pretrained.provide(options.model, options.config_data)
        origin = f" ({found['origin']})" if found["origin"] else ""
        text = f"{found['model']}: initial weights {found['initializer']}{origin}"
    write_json(found, options.output)
    print(text)


if __name__ == "__main__":
    take_environment(network=True)
    main()
