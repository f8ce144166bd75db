"""Data, references and short runs that the tests of parity share; tests of several tiers share parameters."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from parity.probing import observe
from parity.protocols import CONFIGURED, PROTOCOLS
from parity.short_runs import ShortRuns
from workspace import CONFIG, Arrays, made_once

DEEP = ["mobilenet-v2", "wide-resnet"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize by the module's cells of a test, so that files of several tiers share the test."""
    if cells := getattr(metafunc.module, "CELLS", {}).get(metafunc.function):
        ids = [cell if isinstance(cell, str) else "-".join(map(str, cell)) for cell in cells]
        metafunc.parametrize("cell", cells, ids=ids)


def linked(data_of: dict[str, Arrays], folder: Path) -> list[Arrays]:
    """Data sets in one data folder."""
    (folder / "arrays").mkdir()
    for arrays in data_of.values():
        place = json.loads(arrays.manifest.read_text())["folder"]
        (folder / place).symlink_to(arrays.folder / place)
    return [Arrays(arrays.manifest, folder) for arrays in data_of.values()]


@pytest.fixture(scope="session")
def in_one_folder(data_of, tmp_path_factory) -> list[Arrays]:
    """The data sets of `data_of`, in one data folder."""
    return linked(data_of, tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def references(data_of, in_one_folder, tmp_path_factory) -> Callable[[str], Path]:
    """The reference's probe of a workload; deep and other ones are made together, once for all processes."""
    known = {name for name, block in CONFIG["workloads"].items() if block["dataset"] in data_of}

    def reference(workload: str) -> Path:
        kinds = {"deep": DEEP, "protocols": sorted({*PROTOCOLS} - {"loop"})}
        # The reference of all of resnet-18 takes minutes: "protocols" have it narrow.
        kinds["shallow"] = sorted({*known, "loop"} - {*DEEP, "resnet-18"})
        (kind,) = (kind for kind, names in kinds.items() if workload in names)

        def make(folder: Path) -> None:
            observe("reference", kinds[kind], in_one_folder, folder, CONFIGURED)

        return made_once(tmp_path_factory, f"{kind}-references", make) / workload / "reference.npz"

    return reference


@pytest.fixture(scope="session")
def short_runs(small, prose, data_of, tmp_path_factory) -> ShortRuns:
    """Runs of two steps, whose first steps are compared with the reference's."""
    others = {"fashion_mnist": small, "tiny_shakespeare": prose}
    return ShortRuns({**data_of, **others}, tmp_path_factory)
