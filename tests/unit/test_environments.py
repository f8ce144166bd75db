"""One set of pins: what each conda file and each pin file holds is what the tests run on."""

import re

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
LISTS = (
    "requirements",
    "dev",
    "cloud",
    "audit",
    "uv",
    "gpu-compiler",
    *(f"{name}.linux-64" for name in ("base", *ENVIRONMENTS)),
)


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
    if path.suffix in (".in", ".txt"):  # no option that could name another index
        lines = [line.partition("#")[0] for line in text.splitlines()]
        options = {
            option for line in lines for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)
        }
        assert options <= {"-r", "--hash"}


def test_tests_run_on_the_pins_of_the_workflow():
    dev, workflow = pins("dev"), pins("requirements")
    assert {name: dev.get(name) for name in workflow} == workflow
    assert {"pytest", "ruff", "snakefmt"} <= set(dev) - set(workflow)


def test_every_environment_has_its_files():
    for pattern in ("{}.in", "{}.yaml", "{}.linux-64.txt"):
        assert all((ROOT / "envs" / pattern.format(name)).is_file() for name in ENVIRONMENTS)
    assert {path.stem for path in ROOT.glob("envs/*.yaml")} == set(ENVIRONMENTS)
    # Snakemake would give such a file to conda instead of the conda file and its pip section.
    assert not list(ROOT.glob("envs/*.pin.txt"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_conda_file_holds_the_pins_of_the_pin_file(name):
    conda = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())
    assert conda["channels"] == ["conda-forge"]
    python, pip, listed = conda["dependencies"]
    assert re.fullmatch(r"python =3\.11\.\d+", python)
    assert re.fullmatch(r"pip =\d+\.\d+(\.\d+)?", pip)
    assert listed["pip"] == [
        f"{package}=={version}" for package, version in pins(f"{name}.linux-64").items()
    ]


@pytest.mark.parametrize("name", ["base", "workflow", *TRAINING["cpu"]])
def test_environment_is_part_of_the_one_the_tests_run_on(name):
    assert pins(f"{name}.linux-64").items() <= pins("requirements").items()


@pytest.mark.parametrize("name", ACCELERATORS)
def test_environment_of_an_accelerator_differs_by_the_accelerator_only(name):
    """Each framework asks for its own versions of NVIDIA's libraries and the TPU's; all else agrees."""
    there, workflow = pins(f"{name}.linux-64"), pins("requirements")
    differing = {p for p in set(there) & set(workflow) if there[p] != workflow[p]}
    assert {"msgspec", "numpy", "psutil"} <= set(there)
    assert [each for each in differing if not each.startswith(("nvidia-", "libtpu"))] == []


def test_one_version_of_each_framework():
    """Under each of its names; of TensorFlow for TPUs there is none as new."""
    cpu = pins("requirements")
    assert pins("tensorflow-gpu.linux-64")["tensorflow"] == cpu["tensorflow-cpu"]
    assert pins("torch-cuda.linux-64") == pins("torch.linux-64")
    xla, tensorflow = pins("torch-xla-tpu.linux-64"), pins("tensorflow-tpu.linux-64")
    assert xla["torch-xla"] == cpu["torch-xla"]
    assert xla["libtpu"] == tensorflow["libtpu"]


def test_the_compiler_of_gpus_is_that_of_jax_on_cuda():
    assert pins("gpu-compiler").items() <= pins("jax-cuda.linux-64").items()


def test_every_backend_has_the_environment_of_its_device():
    for backend in CONFIG["backends"].values():
        assert backend["environment"] in TRAINING[backend["device"]]


def wanted(name: str) -> set[str]:
    """The packages of a short list, and of those that it includes."""
    found = set()
    for line in (ROOT / f"envs/{name}.in").read_text().splitlines():
        entry = line.partition("#")[0].strip()
        if entry.startswith("-r "):
            found |= wanted(entry.removeprefix("-r ").removesuffix(".in"))
        elif entry:
            found.add(Requirement(entry).name)
    return found


@pytest.mark.parametrize("name", sum(TRAINING.values(), ()))
def test_records_name_the_version_of_the_framework(name):
    pattern = r"tensorflow(-cpu|-tpu)?|torch(vision|-xla)?|libtpu|keras|flax|jax|jaxlib|optax"
    frameworks = {package for package in pins(f"{name}.linux-64") if re.fullmatch(pattern, package)}
    assert frameworks
    assert frameworks <= set(PACKAGES)


@pytest.mark.parametrize("name", LISTS)
def test_short_list_is_covered(name):
    """Each package of the short list is in the compiled one."""
    short = wanted(name.removesuffix(".linux-64"))
    assert short
    assert short <= set(pins(name))
