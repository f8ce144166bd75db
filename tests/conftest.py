"""Fixtures that every folder of tests shares: real data, decoded once, and clean checkouts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.data_programs import prepare
from workspace import Arrays, Checkout, small_copy


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The first folder of PARAGONE_MIRRORS, with the real files of every data set."""
    named = [name for name in os.environ.get("PARAGONE_MIRRORS", "").split(";") if name.strip()]
    folders = [Path(name.strip()) for name in named if Path(name.strip()).is_dir()]
    if not folders:
        pytest.fail(
            "this test needs real data: set PARAGONE_MIRRORS to a folder that holds "
            "fashion_mnist/, cats_vs_dogs/ and reuters/ with the files that config.yaml lists"
        )
    return folders[0]


@pytest.fixture(scope="session")
def fashion(mirror, tmp_path_factory) -> Arrays:
    """The real Fashion-MNIST, fetched and serialized once a session; not to be written to."""
    folder = tmp_path_factory.mktemp("shared")
    prepare("fashion_mnist", folder / "results", folder / "data", environment=str(mirror))
    return Arrays(folder / "results/manifest.json", folder / "data")


@pytest.fixture(scope="session")
def small(fashion, tmp_path_factory) -> Arrays:
    """The first 2,000 training and 1,000 test images of the real Fashion-MNIST."""
    return small_copy(fashion, tmp_path_factory.mktemp("small"), train=2000, test=1000)


@pytest.fixture
def checkout(tmp_path) -> Callable[[], Checkout]:
    """Make a clean checkout in the test's own folder."""
    return lambda: Checkout(tmp_path / "checkout")
