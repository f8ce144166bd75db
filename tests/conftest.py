"""Fixtures that every folder of tests shares: real data, decoded once, and clean checkouts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.data_programs import prepare
from workspace import CONFIG, Arrays, Checkout, small_copy

MIRRORS = os.environ.get("PARAGONE_MIRRORS", "")
DATASETS = sorted(CONFIG["data"]["editions"])


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The first folder of PARAGONE_MIRRORS, with the real files of every data set.

    For tests of the real files themselves. Unset, they are skipped; set to what is not there, they fail.
    """
    named = [name.strip() for name in MIRRORS.split(";") if name.strip()]
    if not named:
        pytest.skip("needs PARAGONE_MIRRORS: a folder with the files that config.yaml lists")
    for folder in map(Path, named):
        if all((folder / dataset).is_dir() for dataset in DATASETS):
            return folder
    pytest.fail(
        f"PARAGONE_MIRRORS is {MIRRORS}: none of it is a folder that holds {', '.join(DATASETS)} "
        "with the files that config.yaml lists"
    )


@pytest.fixture(scope="session")
def fashion(tmp_path_factory) -> Arrays:
    """Fashion-MNIST, fetched and serialized once a session; not to be written to.

    The real one if a mirror or the official address has it, else the synthetic stand-in, as
    `data.source: auto` has it: `Arrays.source` says which.
    """
    folder = tmp_path_factory.mktemp("shared")
    prepare("fashion_mnist", folder / "results", folder / "data", environment=MIRRORS)
    arrays = Arrays(folder / "results/manifest.json", folder / "data")
    if MIRRORS.strip(" ;"):
        assert arrays.source == "real", f"PARAGONE_MIRRORS is {MIRRORS}: no Fashion-MNIST there"
    return arrays


@pytest.fixture(scope="session")
def small(fashion, tmp_path_factory) -> Arrays:
    """The first 2,000 training and 1,000 test images of `fashion`."""
    return small_copy(fashion, tmp_path_factory.mktemp("small"), train=2000, test=1000)


@pytest.fixture(scope="session")
def data_of(fashion, tmp_path_factory) -> dict[str, Arrays]:
    """Arrays by data set: `fashion`, and small synthetic stand-ins of the others, images of 32 x 32."""
    folder = tmp_path_factory.mktemp("stand_ins")
    found = {"fashion_mnist": fashion}
    for name in ("cats_vs_dogs", "reuters"):
        results, data = folder / name / "results", folder / name / "data"
        prepare(name, results, data, source="synthetic", image_size=32)
        found[name] = Arrays(results / "manifest.json", data)
    return found


@pytest.fixture
def checkout(tmp_path) -> Callable[[], Checkout]:
    """Make a clean checkout in the test's own folder."""
    return lambda: Checkout(tmp_path / "checkout")
