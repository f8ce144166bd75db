"""One set of pins: what conda users get is what the tests run on."""

import re

import pytest
import yaml
from packaging.requirements import Requirement
from workspace import CONFIG, ROOT

LISTS = ("requirements", "dev", "uv")
ENVIRONMENTS = sorted(ROOT.glob("envs/*.yaml"))


def blocks(name: str) -> list[str]:
    """Each requirement of a pinned list with its hashes, continuation lines joined."""
    text = (ROOT / f"envs/{name}.txt").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def pins(name: str) -> dict[str, str]:
    """Package -> its pinned version on Linux x86-64 with Python 3.11, as the conda files have it."""
    found: dict[str, str] = {}
    target = {"python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux"}
    for block in blocks(name):
        requirement = Requirement(block.partition("--hash")[0].strip())
        if requirement.marker and not requirement.marker.evaluate(target):
            continue
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", block
        assert requirement.name not in found
        found[requirement.name] = specifier.version
    return found


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_has_hashes(name):
    assert len(blocks(name)) >= 1
    for block in blocks(name):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), block


@pytest.mark.parametrize(
    "path",
    sorted(path for path in ROOT.glob("envs/*") if path.is_file()),
    ids=lambda path: path.name,
)
def test_no_file_names_a_host(path):
    text = path.read_text()
    assert "://" not in text
    assert "index-url" not in text
    assert "find-links" not in text
    assert "trusted-host" not in text


def test_tests_run_on_the_pins_of_the_workflow():
    dev, workflow = pins("dev"), pins("requirements")
    assert {name: dev.get(name) for name in workflow} == workflow
    assert {"pytest", "ruff", "snakefmt"} <= set(dev) - set(workflow)


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_conda_pins_are_those_of_the_workflow(path):
    *_, pip = yaml.safe_load(path.read_text())["dependencies"]
    requirements = [Requirement(line) for line in pip["pip"]]
    assert [r.name for r in requirements] == sorted(r.name for r in requirements)
    for requirement in requirements:
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert pins("requirements")[requirement.name] == specifier.version


def test_every_backend_has_an_environment_and_none_is_left_over():
    used = {backend["environment"] for backend in CONFIG["backends"].values()}
    assert used | {"workflow", "torch"} == {path.stem for path in ENVIRONMENTS}


def test_short_lists_are_covered():
    """Each package of the short list is in the compiled one."""
    for name in ("requirements", "uv"):
        lines = (line.partition("#")[0] for line in (ROOT / f"envs/{name}.in").open())
        wanted = {Requirement(line.strip()).name for line in lines if line.strip()}
        assert wanted <= set(pins(name))
