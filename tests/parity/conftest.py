"""The probes of every backend, made once for all tests of the parity gate."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from parity.probing import BACKENDS, observe, workloads_of
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
def probes(in_one_folder, tmp_path_factory) -> Path:
    """A folder with <workload>/<backend>.npz of every backend and the reference."""
    folder = tmp_path_factory.mktemp("probes")
    slowest_first = ["torch-xla", *(name for name in BACKENDS if name != "torch-xla"), "reference"]
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(observe, backend, workloads_of(backend), in_one_folder, folder)
            for backend in slowest_first
        ]
    for each in waiting:
        each.result()
    return folder
