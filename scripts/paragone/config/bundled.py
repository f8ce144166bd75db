"""The config where records come from bundles: what to draw is what their configs asked for.

Standard library only: the Snakefile imports this module at parse time.
"""

import re
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError
from paragone.config.read import fill

LABEL = re.compile(r"\w[\w.-]*")
MACHINES = "machines"  # the table that several bundles have


def labels(paths: list[str]) -> dict[str, Path]:
    """The bundles by label, the name of the file: it stands in figures and tables.

    Raises `UserError` for two of one name, or a name that is no label.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if not LABEL.fullmatch(path.stem):
            raise UserError(f"bundles: {path}: name the file with letters, digits, dots and dashes")
        if path.stem in found:
            raise UserError(
                f"bundles: two are named {path.stem}; rename one: names tell them apart"
            )
        found[path.stem] = path
    return found


def take(config: dict[str, Any], configs: list[dict[str, Any]]) -> None:
    """Put into `config`, in place, the experiments of the bundles' `configs`, and what those need.

    The experiment of the primary question comes first. Where two bundles have an experiment, the first says
    how it is drawn. Several bundles have a table more: machines side by side.
    """
    config["records_only"] = True
    for key in ("primary", "baseline", "matmul", "accelerator_reference", "scaling"):
        config[key] = configs[0][key]
    more = [MACHINES] * (len(configs) > 1)
    config["experiments"] = {}
    primary = config["primary"]["experiment"]
    for one in configs:
        for name, block in sorted(one["experiments"].items(), key=lambda pair: pair[0] != primary):
            shown = {**block, "tables": [*block["tables"], *more]}
            config["experiments"].setdefault(name, shown)
        for key in ("workloads", "backends"):
            fill(config[key], one[key])
        # Whole, as each form has keys of its own; the first contributed bundle has none.
        for name, block in one.get("datasets", {}).items():
            config["datasets"].setdefault(name, block)
