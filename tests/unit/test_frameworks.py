"""Only what you have: `frameworks` of the config, `make all FRAMEWORKS=...`, frameworks that are absent."""

import copy
import re
import subprocess
from importlib import import_module

import pytest
import yaml
from workspace import CONFIG, ROOT, call, make_spec, train_command

from paragone.base.errors import UserError, needing_packages
from paragone.config.expand import expand, products
from paragone.config.narrow import FRAMEWORKS, framework_of, narrow
from paragone.records import record


def narrowed(*frameworks: str, **changes: object) -> tuple[dict, list[str]]:
    """The default config with some frameworks alone, and what was left out in words."""
    config = copy.deepcopy(CONFIG) | {"frameworks": list(frameworks)} | changes
    return config, narrow(config)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_only_backends_of_named_frameworks_are_left(framework):
    config, words = narrowed(framework)
    runs = {name: expand(config, name) for name in config["experiments"]}
    trained = {spec.backend["name"] for specs in runs.values() for spec in specs}
    multiplied = {*products(config)}
    for name in trained | multiplied:
        assert framework_of(config["backends"][name]["environment"]) == framework
    assert all(runs.values())
    assert multiplied
    assert config["primary"]["experiment"] in runs
    assert config["baseline"] in trained
    names = [{*one.partition(":")[0].split(", ")} for one in words]
    assert f"not of {framework}," in words[0]
    assert names[0]
    assert not names[0] & trained
    assert names[1] == {*CONFIG["experiments"]} - {*runs}
    assert len(names) == 2


def test_an_experiment_without_a_named_framework_is_an_error():
    with pytest.raises(UserError, match="no experiment has a backend of jax or torch-xla"):
        narrowed("jax", "torch-xla", only=["batch_size_throughput"])


def test_the_baseline_is_of_the_experiment_that_draws_it():
    config = copy.deepcopy(CONFIG) | {"frameworks": ["tensorflow"]}
    experiments = config["experiments"]
    config["experiments"] = {"first": experiments["multiworker_mobilenet"]} | experiments
    narrow(config)
    assert config["baseline"] == "tensorflow-mirrored"


def test_given_runs_are_not_narrowed():
    with pytest.raises(UserError, match="given runs are drawn whole"):
        narrowed("jax", records_only={"one_device": ["a@elsewhere"]})


def test_pins_of_one_framework_hold_no_other():
    trains = {"torch-xla": "torch-xla", "jax": "jax", "flax": "jax", "libtpu": None}
    for name in ("base", "torch", "tensorflow", "jax"):
        text = (ROOT / f"envs/{name}.linux-64.txt").read_text()
        pins = {line.partition("==")[0] for line in text.splitlines() if line[:1].isalpha()}
        assert {trains[pin] for pin in pins & {*trains}} <= {name}
        assert ("torch" in pins, "tensorflow-cpu" in pins) == (
            name == "torch",
            name == "tensorflow",
        )


def make(*words: str) -> subprocess.CompletedProcess:
    """What `make` would do."""
    return call(["make", "--directory", str(ROOT), "--dry-run", "--always-make", *words])


def test_make_installs_and_names_the_frameworks():
    line = make("all", "FRAMEWORKS=jax,torch").stdout
    assert ".venv-jax-torch/bin/uv pip install" in line
    for name in ("base", "jax-tpu", "torch", "tensorflow"):  # TensorFlow Datasets imports the last
        assert f"-r envs/{name}.linux-64.txt" in line
    assert "requirements.txt" not in line
    assert "torch-xla" not in line
    assert yaml.safe_load(line.split("--config frameworks=")[1].split()[0]) == ["jax", "torch"]
    refused = make("all", "FRAMEWORKS=mxnet")
    assert refused.returncode != 0
    assert 'tensorflow, torch, torch-xla or jax, or several, not "mxnet"' in refused.stderr
    assert "--config" not in make("all").stdout
    assert "of `make all` alone" in make("test", "FRAMEWORKS=torch").stderr
    (allowed,) = re.findall(r"filter-out ([a-z -]+),\$\(NAMED\)", (ROOT / "Makefile").read_text())
    assert {*allowed.split()} == {*FRAMEWORKS}


@pytest.fixture
def without_jax(tmp_path):
    """Environment variables by which JAX is as if it were not installed."""
    package = tmp_path / "absent/jax/__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("raise ModuleNotFoundError('No module named jax', name='jax')\n")
    return {"PYTHONPATH": str(tmp_path / "absent")}


def test_a_run_without_its_framework_is_unavailable(small, tmp_path, without_jax):
    spec = make_spec("fashion-cnn", "jax", epochs=1, steps_per_epoch=2)
    done = call(train_command(spec, small, tmp_path), **without_jax)
    assert done.returncode == 0, done.stdout + done.stderr
    found = record.read(tmp_path / "record.json")
    assert (found.status, found.reason) == ("unavailable", "jax is not installed here")
    assert "Traceback" not in done.stderr


def test_a_backend_of_ones_own_environment_stays():
    config = copy.deepcopy(CONFIG) | {"frameworks": ["jax"]}
    config["backends"]["torch"]["environment"] = "mine"
    narrow(config)
    assert "torch" in {spec.backend["name"] for spec in expand(config, "one_device")}


def test_a_module_that_the_project_lacks_is_no_missing_framework():
    with pytest.raises(ModuleNotFoundError), needing_packages():
        import_module("paragone.engines.misspelled")
