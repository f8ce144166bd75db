"""Runs the program that writes tables."""

import json
import math
from pathlib import Path

import pandas as pd
from make_records import LABELS
from workspace import CONFIG, FOLDERS, arguments

import write_table
from paragone.analysis import tidy

FORMATS = {"csv": "csv", "markdown": "md", "cells": "json"}  # and suffixes

SHARED = {"workload": "fashion-conv", "global_batch": 1000, "tuning": "as-installed"}
SHARED |= {"machine": "here", "unit": "pair", "n": 7, "needed": 10.0, "sessions": 1}
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


def write(folder: Path, name: str, *options: object, **files: object) -> dict[str, Path]:
    """Write the table `name` into `folder`; the file of each format.

    `files`: by kind of input; one that is a table is written first. `options`: further ones.
    """
    outputs = {kind: folder / f"{name}.{suffix}" for kind, suffix in FORMATS.items()}
    settings = json.dumps({"primary": {"experiment": "another", "metric": "speed"}})
    line = [name, *arguments(labels=LABELS, title="A title", settings=settings), *map(str, options)]
    for kind, given in files.items():
        if isinstance(given, pd.DataFrame):
            path = folder / f"{kind}.parquet"
            tidy.write(given, path)
            given = path
        line += arguments(**{kind: given})
    write_table.main(line + arguments(output=[*outputs.values()]))
    return outputs


def beside(experiment: str) -> list[str]:
    """The options of a table that shows published rows."""
    of_paper = {"paper": FOLDERS[experiment], "published_experiment": experiment}
    return arguments(**of_paper, margins=json.dumps(CONFIG["margins"]))
