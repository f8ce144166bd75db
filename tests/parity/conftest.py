"""Data, references and short runs that the tests of parity share; tests of several tiers share parameters."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from parity.probing import observe
from parity.protocols import CONFIGURED, PROTOCOLS
from parity.short_runs import ShortRuns
from workspace import Arrays, made_once

TEXTS = ["reuters-cnn", "reuters-cnn-double-softmax"]
# Workloads whose references are made together.
KINDS = {
    "shallow": ["fashion-cnn", "fashion-conv", "loop", *TEXTS],
    "deep": ["mobilenet-v2", "wide-resnet"],
    "protocols": sorted({*PROTOCOLS} - {"loop"}),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize by the module's cells of a test, so that files of several tiers share the test."""
    if cells := getattr(metafunc.module, "CELLS", {}).get(metafunc.function):
        ids = [cell if isinstance(cell, str) else "-".join(map(str, cell)) for cell in cells]
        metafunc.parametrize("cell", cells, ids=ids)


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
def references(in_one_folder, tmp_path_factory) -> Callable[[str], Path]:
    """The reference's probe of a workload; those of a kind are made together, once for all processes."""

    def reference(workload: str) -> Path:
        (kind,) = (kind for kind, names in KINDS.items() if workload in names)

        def make(folder: Path) -> None:
            observe("reference", KINDS[kind], in_one_folder, folder, CONFIGURED)

        return made_once(tmp_path_factory, f"{kind}-references", make) / workload / "reference.npz"

    return reference


@pytest.fixture(scope="session")
def short_runs(small, prose, data_of, tmp_path_factory) -> ShortRuns:
    """Runs of two steps, whose first steps are compared with the reference's."""
    others = {"fashion_mnist": small, "tiny_shakespeare": prose}
    return ShortRuns({**data_of, **others}, tmp_path_factory)
