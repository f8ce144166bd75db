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
from paragone.config.papers import with_papers
from paragone.config.read import merged, read

LABEL = re.compile(r"\w[\w.-]{0,63}")
KEPT = ("runs", "contests")  # folders of records, which stay beside what is drawn

Opened = dict[str, tuple[Listing, dict[str, Any]]]  # listing and config of each bundle by label


def opened(paths: list[str]) -> Opened:
    """The bundles by label, the name of the file, which figures and tables show.

    Raises `UserError` for two files of one name, a name that is no label, and as `read_config` does.
    """
    bundles: Opened = {}
    for path in map(Path, paths):
        if not LABEL.fullmatch(path.stem):
            raise UserError(f"bundles: {path}: name it with up to 64 letters, digits, dots, dashes")
        if path.stem in bundles:
            raise UserError(
                f"bundles: two are named {path.stem}; rename one: names tell them apart"
            )
        bundles[path.stem] = read_config(path)
    return bundles


def with_label(name: str, label: str) -> str:
    """The name of a run or question of a bundle, in files and tables: several machines have the same."""
    return f"{name}@{label}"


def unpacked(file: str, label: str) -> str | None:
    """Where a file of a run or of contests is unpacked, below the folder of results; None for any other."""
    kind, *rest = file.split("/")
    return "/".join([kind, with_label(rest[0], label), *rest[1:]]) if kind in KEPT else None


def files_of_records(bundles: Opened) -> list[str]:
    """The files of all runs and contests, as names below the folder of results."""
    names = (
        unpacked(file, label) for label, (listing, _) in bundles.items() for file in listing.files
    )
    return [name for name in names if name]


def drawn(config: dict[str, Any], bundles: Opened) -> dict[str, Any]:
    """The whole config of the main workflow: `config` and its defaults, with what the bundles ask for.

    The experiment of the primary question comes first. Where two bundles have the same experiment, workload,
    backend or data set, the first bundle decides how it is drawn.
    """
    whole = merged(read(PROJECT / "config.yaml"), config)
    with_papers(whole, PROJECT)
    configs = [config for _, config in bundles.values()]
    whole |= {key: configs[0][key] for key in ("primary", "baseline", "matmul")}
    primary = configs[0]["primary"]["experiment"]
    whole["experiments"], whole["records_only"] = {}, {}
    # The first has the last word. A backend keeps what only another has: its tuning on a GPU, say.
    for config in reversed(configs):
        whole["backends"] = merged(whole["backends"], config["backends"])
        for key in ("workloads", "datasets"):
            whole[key] = whole[key] | config.get(key, {})
    for config in configs:
        for name, block in sorted(
            config["experiments"].items(), key=lambda item: item[0] != primary
        ):
            whole["experiments"].setdefault(name, block)
    for label, (listing, _) in bundles.items():
        for name, runs in listing.experiments.items():
            given = whole["records_only"].setdefault(name, {"runs": [], "contests": []})
            given["runs"] += [with_label(run, label) for run in runs]
            asked = listing.contests.get(name, [])
            given["contests"] += [with_label(question, label) for question in asked]
    return whole
