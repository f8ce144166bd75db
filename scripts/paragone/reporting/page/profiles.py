"""Profiles of steps, found by what they are of: all seeds of a cell have that of the first."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from paragone.config.run_spec import Spec
from paragone.records.measurements import read as read_measurement
from paragone.records.profiles import ProfileRecord, check_profile


def read(paths: Iterable[Path]) -> dict[str, ProfileRecord]:
    """The profiles by cell. Raises `UserError` that names the file of one that is not valid."""
    found = [read_measurement(path, check_profile) for path in paths]
    return {cell_of(one.spec): one for one in found}


def cell_of(spec: Spec) -> str:
    """What runs that differ by their seed alone have in common."""
    return replace(spec, seed=0).to_json()
