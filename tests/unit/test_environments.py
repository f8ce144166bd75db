"""One set of pins: what each conda file and each pin file holds is what the tests run on."""

import re
from functools import cache

import pytest
import yaml
from packaging.requirements import Requirement
from workspace import CONFIG, ROOT

from paragone.machine.process_entry import PACKAGES

TRAINING = {
    "cpu": ("tensorflow", "torch", "torch-xla", "jax"),
    "gpu": ("tensorflow-gpu", "torch-cuda", "jax-cuda"),
    "tpu": ("tensorflow-tpu", "torch-xla-tpu", "jax-tpu"),
}
ACCELERATORS = TRAINING["gpu"] + TRAINING["tpu"]
ENVIRONMENTS = ("workflow", *TRAINING["cpu"], *ACCELERATORS)
LISTS = [f"{name}.linux-64" for name in ("base", *ENVIRONMENTS)]
LISTS += ["requirements", "dev", "cloud", "audit", "uv", "gpu-compiler"]
FRAMEWORKS = r"tensorflow(-cpu|-tpu)?|torch(vision|-xla)?|libtpu|keras|flax|jax|jaxlib|optax"


@cache
def pins(name: str) -> dict[str, str]:
    """Package -> its pinned version on Linux x86-64 with Python 3.11; each requirement has hashes."""
    versions: dict[str, str] = {}
    target = {"python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux"}
    lines = (ROOT / f"envs/{name}.txt").read_text().replace("\\\n", " ").splitlines()
    for line in (line for line in lines if line.strip() and not line.startswith("#")):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", line), line
        requirement = Requirement(line.partition("--hash")[0].strip())
        if requirement.marker and not requirement.marker.evaluate(target):
            continue
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", line
        assert requirement.name not in versions
        versions[requirement.name] = specifier.version
    return versions


def wanted(name: str) -> set[str]:
    """The packages of a short list, and of those that it includes."""
    packages = set()
    for line in (ROOT / f"envs/{name}.in").read_text().splitlines():
        entry = line.partition("#")[0].strip()
        if entry.startswith("-r "):
            packages |= wanted(entry.removeprefix("-r ").removesuffix(".in"))
        elif entry:
            packages.add(Requirement(entry).name)
    return packages


@pytest.mark.parametrize("name", LISTS)
def test_short_list_is_covered_by_pins_with_hashes(name):
    assert set() < wanted(name.removesuffix(".linux-64")) <= set(pins(name))


def test_no_file_names_a_host():
    """Neither an address, nor an option that could name another index."""
    for path in (path for path in ROOT.glob("envs/*") if path.is_file()):
        text = path.read_text()
        assert "://" not in text, path
        assert not re.search(r"(?m)^--?(?!r |hash)[a-z]", text) or path.suffix == ".yaml", path


def test_tests_run_on_the_pins_of_the_workflow_and_of_each_environment_on_cpus():
    """Each framework asks for its own versions of NVIDIA's libraries and the TPU's; all else agrees."""
    dev, workflow = pins("dev"), pins("requirements")
    assert workflow.items() <= dev.items()
    for name in ("base", "workflow", *TRAINING["cpu"]):
        assert pins(f"{name}.linux-64").items() <= workflow.items(), name
    for name in ACCELERATORS:
        there = pins(f"{name}.linux-64")
        differing = {p for p in there.keys() & workflow.keys() if there[p] != workflow[p]}
        assert [p for p in differing if not p.startswith(("nvidia-", "libtpu"))] == [], name
    assert pins("gpu-compiler").items() <= pins("jax-cuda.linux-64").items()


def test_every_environment_has_a_conda_file_with_the_pins_of_its_pin_file():
    assert {path.stem for path in ROOT.glob("envs/*.yaml")} == set(ENVIRONMENTS)
    for name in ENVIRONMENTS:
        conda = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())
        assert conda["channels"] == ["conda-forge"]
        python, _, listed = conda["dependencies"]
        assert re.fullmatch(r"python =3\.11\.\d+", python)
        versions = pins(f"{name}.linux-64")
        assert listed["pip"] == [f"{package}=={version}" for package, version in versions.items()]


def test_every_backend_has_the_environment_of_its_device_whose_frameworks_records_name():
    for backend in CONFIG["backends"].values():
        assert backend["environment"] in TRAINING[backend["device"]]
    for name in sum(TRAINING.values(), ()):
        frameworks = {p for p in pins(f"{name}.linux-64") if re.fullmatch(FRAMEWORKS, p)}
        assert set() < frameworks <= set(PACKAGES)
