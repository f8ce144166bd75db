"""Bundles as a workflow meets them: their configs, and the files that come out of them."""

from pathlib import Path
from typing import Any

from paragone.config.bundled import take
from paragone.records.bundles.contents import Listing
from paragone.records.bundles.unpack import read_config


def take_bundles(config: dict[str, Any], bundles: dict[str, Path]) -> dict[str, Listing]:
    """Put into `config` what the bundles ask for; their listings by label. Raises as `read_config` does."""
    opened = {label: read_config(path) for label, path in bundles.items()}
    take(config, [one for _, one in opened.values()])
    return {label: listing for label, (listing, _) in opened.items()}


def tables(listing: Listing) -> list[str]:
    """The tidy tables of a bundle, as names below its folder of tables."""
    of_runs = [f"{name}/{kind}" for name in listing.experiments for kind in ("runs", "epochs")]
    return [*(["matmul", "allreduce"]), *of_runs]


def runs(listing: Listing, label: str) -> list[str]:
    """The files of its runs, as names below its folder."""
    files = [name.split("/") for name in listing.files if name.startswith("runs/")]
    return [f"runs/{run}@{label}/{file}" for _, run, file in files]
