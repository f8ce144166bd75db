"""The config that draws bundles asks for what their own configs asked for.

Standard library, YAML and msgspec only: the Snakefile imports this module at parse time.
"""

import re
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))

from bundle_archive import Listing, read_config
from paragone.base.errors import UserError
from paragone.config.read import fill, read

LABEL = re.compile(r"\w[\w.-]*")

Opened = dict[str, tuple[Listing, dict[str, Any]]]  # listing and config of each bundle by label


def opened(paths: list[str]) -> Opened:
    """The bundles by label, the name of the file, which figures and tables show.

    Raises `UserError` for two files of one name, a name that is no label, and as `read_config` does.
    """
    bundles: Opened = {}
    for path in map(Path, paths):
        if not LABEL.fullmatch(path.stem):
            raise UserError(f"bundles: {path}: name the file with letters, digits, dots and dashes")
        if path.stem in bundles:
            raise UserError(
                f"bundles: two are named {path.stem}; rename one: names tell them apart"
            )
        bundles[path.stem] = read_config(path)
    return bundles


def named(run: str, label: str) -> str:
    """The name of a run of a bundle, in files and tables: several machines make the same run."""
    return f"{run}@{label}"


def files_of_runs(bundles: Opened) -> list[str]:
    """The files of all runs, as names below the folder of results."""
    return [
        f"runs/{named(run, label)}/{file}"
        for label, (listing, _) in bundles.items()
        for kind, run, *rest in (name.split("/") for name in listing.files if "/" in name)
        for file in rest
        if kind == "runs"
    ]


def drawn(config: dict[str, Any], bundles: Opened) -> dict[str, Any]:
    """The whole config of the main workflow: `config` and its defaults, with what the bundles ask for.

    The experiment of the primary question comes first. Where two bundles have the same experiment, the first
    bundle decides how it is drawn.
    """
    whole = {**config}
    fill(whole, read(PROJECT / "config.yaml"))
    configs = [own for _, own in bundles.values()]
    whole |= {key: configs[0][key] for key in ("primary", "baseline", "matmul")}
    primary = configs[0]["primary"]["experiment"]
    whole["experiments"], whole["records_only"] = {}, {}
    for own in configs:
        for key in ("workloads", "backends", "datasets"):
            whole[key] = own.get(key, {}) | whole[key]
        for name, block in sorted(own["experiments"].items(), key=lambda item: item[0] != primary):
            whole["experiments"].setdefault(name, block)
    for label, (listing, _) in bundles.items():
        for name, runs in listing.experiments.items():
            drawn_runs = whole["records_only"].setdefault(name, [])
            drawn_runs += [named(run, label) for run in runs]
    return whole
