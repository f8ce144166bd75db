"""One set of pins for conda and pip, on which the tests run; and frameworks that are absent or not wanted."""

import copy
import re
from functools import cache
from importlib import import_module

import pytest
import yaml
from packaging.requirements import Requirement
from workspace import CONFIG, ROOT, call, config_of, make_spec, train_command

from paragone.base.errors import UserError, needing_packages
from paragone.config.environments import FRAMEWORKS, framework_of
from paragone.config.expand import expand, products
from paragone.config.narrow import narrow
from paragone.config.schema import Config
from paragone.machine.process_entry import PACKAGES
from paragone.records import record

TRAINING = {
    "cpu": ("tensorflow", "torch", "torch-xla", "jax"),
    "gpu": ("tensorflow-gpu", "torch-cuda", "jax-cuda"),
    "tpu": ("tensorflow-tpu", "torch-xla-tpu", "jax-tpu"),
}
ACCELERATORS = TRAINING["gpu"] + TRAINING["tpu"]
ENVIRONMENTS = ("workflow", *TRAINING["cpu"], *ACCELERATORS)
DISTRIBUTIONS = r"tensorflow(-cpu|-tpu)?|torch(vision|-xla)?|libtpu|keras|flax|jax|jaxlib|optax"


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
        frameworks = {p for p in pins(f"{name}.linux-64") if re.fullmatch(DISTRIBUTIONS, p)}
        assert set() < frameworks <= set(PACKAGES)


def narrowed(*frameworks: str, **changes: object) -> tuple[Config, list[str]]:
    """The default config with some frameworks alone, and what was left out in words."""
    config = config_of(CONFIG | {"frameworks": list(frameworks)} | changes)
    return config, narrow(config)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_only_backends_of_named_frameworks_are_left(framework):
    config, words = narrowed(framework)
    runs = {name: expand(config, name) for name in config.experiments}
    trained = {spec.backend.name for specs in runs.values() for spec in specs}
    for name in trained | {*products(config)}:
        assert framework_of(config.backends[name].environment) == framework
    assert all(runs.values())
    assert config.primary.experiment in runs
    assert config.baseline in trained
    assert f"not of {framework}," in words[0]


def test_what_cannot_be_narrowed_is_an_error():
    with pytest.raises(UserError, match="no experiment has a backend of jax or torch-xla"):
        narrowed("jax", "torch-xla", only=["batch_size_throughput"])
    given = {"one_device": {"runs": ["a@elsewhere"], "contests": []}}
    with pytest.raises(UserError, match="given runs are drawn whole"):
        narrowed("jax", records_only=given)


def test_the_baseline_is_of_the_experiment_that_draws_it_and_an_own_environment_stays():
    experiments = CONFIG["experiments"]
    first = {"first": experiments["multiworker_mobilenet"]} | copy.deepcopy(experiments)
    config, _ = narrowed("tensorflow", experiments=first)
    assert config.baseline == "tensorflow-mirrored"
    backends = CONFIG["backends"] | {"torch": CONFIG["backends"]["torch"] | {"environment": "mine"}}
    config, _ = narrowed("jax", backends=backends)
    assert "torch" in {spec.backend.name for spec in expand(config, "one_device")}


def test_make_installs_and_names_the_frameworks():
    def make(*words: str) -> str:
        """What `make` would do, or what it says is wrong."""
        done = call(["make", "--directory", str(ROOT), "--dry-run", "--always-make", *words])
        return done.stderr if done.returncode else done.stdout

    line = make("all", "FRAMEWORKS=jax,torch")
    assert ".venv-jax-torch/bin/uv pip install" in line
    for name in ("base", "jax-tpu", "torch", "tensorflow"):  # TensorFlow Datasets imports the last
        assert f"-r envs/{name}.linux-64.txt" in line
    assert "torch-xla" not in line
    assert yaml.safe_load(line.split("--config frameworks=")[1].split()[0]) == ["jax", "torch"]
    refusal = make("all", "FRAMEWORKS=mxnet")
    assert 'tensorflow, torch, torch-xla or jax, or several, not "mxnet"' in refusal


def test_a_run_without_its_framework_is_unavailable(small, tmp_path):
    """JAX is as if it were not installed. A module that the project itself lacks is another matter."""
    package = tmp_path / "absent/jax/__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("raise ModuleNotFoundError('No module named jax', name='jax')\n")
    spec = make_spec("fashion-cnn", "jax", epochs=1, steps_per_epoch=2)
    done = call(train_command(spec, small, tmp_path), PYTHONPATH=str(tmp_path / "absent"))
    assert done.returncode == 0, done.stdout + done.stderr
    made = record.read(tmp_path / "record.json")
    assert (made.status, made.reason) == ("unavailable", "jax is not installed here")
    assert "Traceback" not in done.stderr
    with pytest.raises(ModuleNotFoundError), needing_packages():
        import_module("paragone.engines.misspelled")
