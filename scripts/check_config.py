"""Check config files before a workflow reads them: the default, and overlays on top of it in order."""

import argparse
from pathlib import Path
from typing import Any

from paragone.base.errors import entry_point
from paragone.config.expand import expand
from paragone.config.read import fill, read
from paragone.config.validate import ROOT, validate


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Raise what is wrong as one message; print how many runs the config asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("overlays", type=Path, nargs="*", help="as given to --configfile")
    options = parser.parse_args(arguments)
    config: dict[str, Any] = {}
    for path in reversed([ROOT / "config.yaml", *options.overlays]):
        fill(config, read(path))
    validate(config)
    runs = {spec.name for name in config["experiments"] for spec in expand(config, name)}
    print(f"{len(config['experiments'])} experiments, {len(runs)} runs")


if __name__ == "__main__":
    main()
