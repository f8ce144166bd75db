"""Fixtures of all folders: real data, decoded once, and clean checkouts; which tests share a process."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from data_programs import OF_PAPERS, prepare
from workspace import CONFIG, Arrays, Checkout, made_once, small_copy

# Where it is set, each of a thousand processes would compile scripts/ anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Threads of PyTorch that wait give their core to the test beside them: here, and in the programs.
os.environ |= {"PARAGONE_SHARED_CORES": "1", "OMP_WAIT_POLICY": "passive"}

MIRRORS = os.environ.get("PARAGONE_MIRRORS", "")
# What a process of pytest-xdist takes as a whole, if not a file; where a pattern ends in `.*`, one test.
GROUPS = (
    r"tests/pipeline/test_smoke",  # one run for all
    r"tests/(?:faults|nightly|pipeline)/test_(?:kill|statuses|held|new|random|nasty|stuck|other)\w*\.py::.*",
    r"tests/parity/test_nightly\.py::(test_every_backend_passes)\[",  # one fixture probes all
    r"tests/parity/test_(?:engines|full|nightly)\.py::.*",
)
# What begins first, because it takes minutes; unit tests end a session, but for those that are named here.
FIRST = (
    "/test_smoke",
    "/cluster/test_jobs",
    "/test_fresh",
    "/test_own_folder",
    "/test_documented_commands",
    "/test_new_question",
    "wrong_engine",
    "/unit/test_data_kinds",
    "/unit/test_data_tables",
    "/test_compiled_steps",
    "/test_gate.py",
    "/parity/",
    "/faults/",
    "/unit/test_data_",
    "/unit/test_pretrained",
    "/unit/test_figures",
)
DATASETS = sorted({block.get("mirror", name) for name, block in CONFIG["datasets"].items()})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Schedule tests that share an expensive fixture in one process.

    Tests are grouped by their ids, because pytest-xdist 3.8 does not see its own marks with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Scheduler(config, log)


def group(nodeid: str) -> str:
    """The group of a test: what a pattern of GROUPS matches, else its file."""
    for pattern in GROUPS:
        if match := re.match(pattern, nodeid):
            return "".join(match.groups()) or match[0]
    return nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort what takes minutes first and unit tests last, so that no process ends with a long test."""

    def place(item: pytest.Item) -> int:
        named = (number for number, name in enumerate(FIRST) if name in item.nodeid)
        return next(named, len(FIRST) + ("/unit/" in item.nodeid))

    items.sort(key=place)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of tests/nightly as nightly."""
    if item.nodeid.startswith("tests/nightly/"):
        item.add_marker("nightly")


@pytest.fixture(scope="session", autouse=True)
def elsewhere(tmp_path_factory) -> Iterator[None]:
    """Work in an empty folder: `results` and `data` of the checkout are the user's."""
    checkout = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(checkout)


@pytest.fixture(autouse=True)
def papers_alone(monkeypatch) -> None:
    """Let a test find the models of papers, whatever plans were made before it."""
    monkeypatch.setenv("PARAGONE_PLUGINS", OF_PAPERS)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The first folder of PARAGONE_MIRRORS, with the real files of every data set.

    Tests of the real files are skipped where it is unset, and fail where it names no such folder.
    """
    named = [name.strip() for name in MIRRORS.split(";") if name.strip()]
    if not named:
        pytest.skip(
            "tests the real files: set PARAGONE_MIRRORS to a folder with those that config.yaml lists "
            "(CI does; stand-ins are tested in any case)"
        )
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

    def make(folder: Path) -> None:
        prepare("fashion_mnist", folder / "results", folder / "data", environment=MIRRORS)

    folder = made_once(tmp_path_factory, "fashion", make)
    arrays = Arrays(folder / "results/manifest.json", folder / "data")
    if MIRRORS.strip(" ;"):
        assert arrays.source == "real", f"PARAGONE_MIRRORS is {MIRRORS}: no Fashion-MNIST there"
    return arrays


@pytest.fixture(scope="session")
def small(fashion, tmp_path_factory) -> Arrays:
    """The first 2,000 training and 1,000 test images of `fashion`."""
    return small_copy(fashion, tmp_path_factory.mktemp("small"), train=2000, test=1000)


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory) -> dict[str, Arrays]:
    """Small synthetic stand-ins of images, of 32 x 32, and of labelled texts, by name."""

    def make(folder: Path) -> None:
        for name in ("cats_vs_dogs", "reuters"):
            results, data = folder / name / "results", folder / name / "data"
            smaller = {"size": 32} if name == "cats_vs_dogs" else None
            prepare(name, results, data, block=smaller, source="synthetic")

    folder = made_once(tmp_path_factory, "stand_ins", make)
    return {
        path.name: Arrays(path / "results/manifest.json", path / "data")
        for path in folder.iterdir()
    }


@pytest.fixture(scope="session")
def prose(tmp_path_factory) -> Arrays:
    """The synthetic stand-in of Tiny Shakespeare."""

    def make(folder: Path) -> None:
        prepare("tiny_shakespeare", folder / "results", folder / "data", source="synthetic")

    folder = made_once(tmp_path_factory, "prose", make)
    return Arrays(folder / "results/manifest.json", folder / "data")


@pytest.fixture(scope="session")
def data_of(fashion, stand_ins) -> dict[str, Arrays]:
    """Arrays by data set: `fashion` and `stand_ins`."""
    return {"fashion_mnist": fashion, **stand_ins}


@pytest.fixture
def checkout(tmp_path) -> Callable[[], Checkout]:
    """Make a clean checkout in the test's own folder."""
    return lambda: Checkout(tmp_path / "checkout")
