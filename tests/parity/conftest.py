"""The probes of every backend, made once for all tests of the parity gate."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from parity.probing import DEEP, QUICK, backends_of, observe
from workspace import Arrays


@pytest.fixture(scope="session")
def in_one_folder(data_of, tmp_path_factory) -> list[Arrays]:
    """The data sets of `data_of`, in one data folder."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "arrays").mkdir()
    for arrays in data_of.values():
        place = json.loads(arrays.manifest.read_text())["folder"]
        (folder / place).symlink_to(arrays.folder / place)
    return [Arrays(arrays.manifest, folder) for arrays in data_of.values()]


@pytest.fixture(scope="session")
def probes_of(in_one_folder, tmp_path_factory) -> Callable[[str], Path]:
    """A folder with <backend>.npz of every backend and the reference, by workload.

    The workloads of a tier are probed together, in one process per backend.
    """

    @cache
    def made(workloads: tuple[str, ...]) -> Path:
        folder = tmp_path_factory.mktemp("probes")
        others = (name for name in backends_of(workloads[0]) if name != "torch-xla")
        with ThreadPoolExecutor(2) as pool:
            waiting = [
                pool.submit(observe, backend, [*workloads], in_one_folder, folder)
                for backend in ("torch-xla", *others, "reference")  # the slowest first
            ]
        for each in waiting:
            each.result()
        return folder

    return lambda workload: made(tuple(QUICK if workload in QUICK else DEEP)) / workload
