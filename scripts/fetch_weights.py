"""Find, check and convert the published weights of one model; write where they are to JSON."""

import argparse
import json
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.data import store
from paragone.models import pretrained


@entry_point
def main() -> None:
    """Write <model>.json; see paragone/data/pretrained.py."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument(
        "--config-data", required=True, type=json.loads, help="the config's `data` block, as JSON"
    )
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    found = pretrained.provide(options.model, options.config_data)
    store.write_json(options.output, found)
    origin = f" ({found['origin']})" if found["origin"] else ""
    print(f"{found['model']}: initial weights {found['initializer']}{origin}")


if __name__ == "__main__":
    main()
