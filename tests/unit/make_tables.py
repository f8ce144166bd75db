"""Writes tables of records made for the tests."""

import math
from pathlib import Path

import pandas as pd
from judge_rows import MARGINS
from make_records import LABELS
from workspace import FOLDERS

from paragone.analysis import tidy
from paragone.reporting import tables
from paragone.reporting.inputs import Inputs

FORMATS = {"csv": "csv", "markdown": "md", "cells": "json"}  # and suffixes

SHARED = {"workload": "fashion-conv", "global_batch": 1000, "tuning": "as-installed"}
SHARED |= {"machine": "here", "unit": "pair", "n": 7, "needed": 10.0}
SHARED |= {"unit_seconds": math.nan, "first_lacks": "", "second_lacks": "", "runs": ""}


def pairs(*rows: tuple, metric: str = "speed", **columns: object) -> pd.DataFrame:
    """Rows of the table of differences: first, second, relation, effect, the winner if there is one."""
    table = pd.DataFrame(
        {
            "first": first,
            "second": second,
            "relation": relation,
            "winner": "".join(winner),
            "effect": effect,
            "low": effect - 0.01,
            "high": effect + 0.01,
        }
        for first, second, relation, effect, *winner in rows
    )
    family = "primary" if metric == "speed" else "exploratory"
    of_metric = {"metric": metric, "family": family, "ratio": metric != "test accuracy"}
    return table.assign(**SHARED | of_metric | columns)


def write(
    folder: Path, name: str, beside: str = "", settings: dict | None = None, **files: object
) -> dict[str, Path]:
    """Write the table `name` into `folder`; the file of each format.

    `beside`: the experiment whose published rows it shows. `files`: by kind of input; one that is a table is
    written first.
    """
    settings = settings or {"primary": {"experiment": "another", "metric": "speed"}}
    paths = {}
    for kind, given in files.items():
        if isinstance(given, pd.DataFrame):
            path = folder / f"{kind}.parquet"
            tidy.write(given, path)
            given = path
        paths[kind] = [given]
    published = {"paper": FOLDERS.get(beside), "published": beside, "margins": MARGINS}
    inputs = Inputs(title="A title", files=paths, labels=LABELS, settings=settings, **published)
    tables.write(name, inputs, folder)
    return {kind: folder / f"{name}.{suffix}" for kind, suffix in FORMATS.items()}
